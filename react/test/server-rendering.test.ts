import { connect, JechoError, json, type } from "@jecho/client";
import {
  JechoProvider,
  useChannel,
  useDemand,
  useEvents,
  useProducer,
  useReconnect,
  useShared,
  useStatus,
} from "@jecho/react";
import { createGateway } from "@jecho/server";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";

const Tick = type("Tick", { n: "uint32" });

function Everything() {
  const status = useStatus();
  useReconnect()();
  const channel = useChannel("ticks", Tick);
  const { latest, status: events } = useEvents(channel, { keep: 3 });
  const { state } = useShared({ station: 7 });
  const { producer } = useProducer(channel);
  const demand = useDemand(producer);
  return createElement(
    "p",
    null,
    JSON.stringify([
      status.state,
      channel?.name ?? "",
      latest?.n ?? -1,
      events.state,
      state.station,
      demand.total,
    ]),
  );
}

test("on a server everything is rendered as it is before there is a session, and nothing is connected", () => {
  const before = process.getActiveResourcesInfo();
  const page = renderToString(
    createElement(JechoProvider, { address: "localhost:1" }, createElement(Everything)),
  );
  expect(page.replaceAll("&quot;", '"')).toBe('<p>["connecting","",-1,"connecting",7,0]</p>');
  expect(process.getActiveResourcesInfo()).toEqual(before);
});

test("a component with a session of somebody else's has its channels at once", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address, { place: "here" });
  const name = session.channel("ticks", json()).name;
  const page = renderToString(createElement(JechoProvider, { session }, createElement(Everything)));
  expect(page).toContain(name);
});

test("a name that is none is the error boundary's", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address, { place: "here" });
  const Wrong = (): string => String(useChannel("no such name")?.name);
  expect(() => renderToString(createElement(JechoProvider, { session }, createElement(Wrong)))).toThrow(
    JechoError,
  );
});
