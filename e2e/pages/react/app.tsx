import { modulatorFrom, type } from "@jecho/client";
import { JechoProvider, useChannel, useEvents, useShared, useStatus } from "@jecho/react";

const Reading = type("Reading", { station: "uint32", celsius: "float32" });

export function App() {
  return (
    <JechoProvider address={location.host}>
      <Station />
    </JechoProvider>
  );
}

function Station() {
  const { state } = useStatus();
  const wanted = useShared({ station: 7 });
  const channel = useChannel("weather/readings", Reading);
  // Runs inside the producer, which sends the wanted station alone.
  const modulator =
    wanted.object &&
    modulatorFrom((event: typeof Reading.event, { objects }) => event.station === objects.wanted.station, {
      objects: { wanted: wanted.object },
    });
  const { latest } = useEvents(modulator && channel, { modulator });
  return (
    <button type="button" onClick={() => wanted.update({ station: wanted.state.station + 1 })}>
      {state}: station {wanted.state.station} has {latest?.celsius ?? "no"} degrees
    </button>
  );
}
