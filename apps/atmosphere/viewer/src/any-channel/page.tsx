/** A page for any channel: what its events hold, and how its numbers go. Nothing of it knows their type. */
import type { JechoError } from "@jecho/client";
import { fbsOf } from "@jecho/client/fbs";
import { useSession, useStatus } from "@jecho/react";
import {
  type FormEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { CHANNELS } from "../../../src/types.ts";
import { useNow } from "../panels/state.tsx";
import { clockTime } from "../panels/view-state.ts";
import { ChannelFeed, type FeedSnapshot, type Row } from "./channel-feed.ts";
import { numbersOf, rangeOf, shortNumber, shortValue } from "./numbers.ts";
import { drawLine, drawStrip } from "./plot.ts";

const PREFIX = "#channel=";
const STALE_MS = 5000;

/** The channel that the page's address names; undefined where it names none. */
export function useChannelName(): string | undefined {
  const hash = useSyncExternalStore(
    listener => {
      addEventListener("hashchange", listener);
      return () => removeEventListener("hashchange", listener);
    },
    () => location.hash,
  );
  return hash.startsWith(PREFIX) ? decoded(hash.slice(PREFIX.length)) : undefined;
}

/** Decoded text, or the same text where somebody typed it unencoded into the address line. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function AnyChannelPage({ name, fault }: { name: string; fault: JechoError | undefined }): ReactNode {
  const open = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const wanted = String(new FormData(event.currentTarget).get("name")).trim();
    location.hash = PREFIX.slice(1) + encodeURIComponent(wanted).replaceAll("%2F", "/");
  };
  return (
    <>
      <header className="page-head">
        <h1>Any channel</h1>
        <form className="channel-form" onSubmit={open} key={name}>
          <label className="field grows">
            <span className="visually-hidden">Channel</span>
            <input name="name" defaultValue={name} list="channels" spellCheck={false} autoComplete="off" />
          </label>
          <datalist id="channels">
            {Object.values(CHANNELS).map(channel => (
              <option key={channel} value={channel} />
            ))}
          </datalist>
          <button type="submit" className="primary">
            Open
          </button>
        </form>
        <a className="back" href="#atmosphere">
          Atmosphere
        </a>
      </header>
      {fault !== undefined && (
        <p className="banner" data-state="refused">
          {fault.code}: {fault.message}
        </p>
      )}
      {name !== "" && <ChannelView key={name} name={name} />}
      {name === "" && <p className="hint any-hint">Name a channel to see what it carries.</p>}
    </>
  );
}

function ChannelView({ name }: { name: string }): ReactNode {
  const session = useSession();
  const [feed, setFeed] = useState<ChannelFeed>();
  useEffect(() => {
    if (session === undefined) return;
    const opened = new ChannelFeed(session, name);
    setFeed(opened);
    return () => {
      opened.close();
      setFeed(undefined);
    };
  }, [session, name]);
  if (feed === undefined) return null;
  return <FeedView feed={feed} />;
}

function FeedView({ feed }: { feed: ChannelFeed }): ReactNode {
  const snapshot = useSyncExternalStore(feed.subscribe, feed.snapshot);
  const [wanted, setWanted] = useState<string>();
  const { rows, type } = snapshot;
  const chosen = rows.find(({ path }) => path === wanted) ?? rows.find(isPlottable);
  return (
    <main
      className="any-channel"
      data-testid="any-channel"
      data-events={snapshot.events}
      data-channel={feed.name}
    >
      <FeedLine snapshot={snapshot} />
      <section className="panel any-fields" aria-label="Fields">
        <h2>{type === undefined ? "Fields" : type.name}</h2>
        {rows.length === 0 && (
          <p className="hint">Nothing has come yet. The fields are known with the first event.</p>
        )}
        <FieldTable rows={rows} chosen={chosen?.path} onChoose={setWanted} />
      </section>
      <section className="panel any-plot" aria-label="Plot">
        {chosen === undefined ? (
          <p className="hint">There is no number to draw.</p>
        ) : (
          <Plot feed={feed} row={chosen} version={snapshot} />
        )}
      </section>
      {type !== undefined && (
        <details className="panel any-schema">
          <summary>Schema</summary>
          <pre>{fbsOf(type)}</pre>
        </details>
      )}
    </main>
  );
}

function isPlottable({ value }: Row): boolean {
  return isNumber(value) || (numbersOf(value)?.length ?? 0) > 0;
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
}

function FeedLine({ snapshot }: { snapshot: FeedSnapshot }): ReactNode {
  const session = useStatus();
  const now = useNow(500);
  const { status, receivedAt, events, perSecond, fault } = snapshot;
  const isStale = receivedAt > 0 && now - receivedAt > STALE_MS;
  // Without a session there is nothing to be said of what was open in it.
  const { state: known, error = fault } = session.state === "live" ? status : session;
  const state = known === "live" && isStale ? "stale" : known;
  return (
    <p className="any-line">
      <span className="pill" role="status" data-state={state} data-testid="any-state">
        <span className="dot" aria-hidden="true" />
        {state === "stale"
          ? `silent since ${clockTime(receivedAt)}`
          : receivedAt === 0 && state === "live"
            ? "waiting for the first event"
            : state}
      </span>
      <span>
        <b>{events}</b> {events === 1 ? "event" : "events"},{" "}
        <b>{isStale ? 0 : shortNumber(Number(perSecond.toPrecision(2)))}</b>/s
      </span>
      <span className="any-fault" role="status">
        {error !== undefined && `${error.code}: ${error.message}`}
      </span>
    </p>
  );
}

interface FieldTableProps {
  readonly rows: readonly Row[];
  readonly chosen: string | undefined;
  readonly onChoose: (path: string) => void;
}

function FieldTable({ rows, chosen, onChoose }: FieldTableProps): ReactNode {
  return (
    <table className="fields">
      <tbody>
        {rows.map(row => (
          <tr key={row.path} data-field={row.path}>
            <th scope="row">
              {isPlottable(row) ? (
                <button
                  type="button"
                  className="quiet"
                  aria-pressed={row.path === chosen}
                  onClick={() => onChoose(row.path)}
                >
                  {row.path}
                </button>
              ) : (
                <span>{row.path}</span>
              )}
            </th>
            <td className="written">{row.written}</td>
            <td className={isNumber(row.value) ? "value is-number" : "value"}>
              <span title={shortValue(row.value)}>{row.name ?? shortValue(row.value)}</span>
              <Strip value={row.value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Strip({ value }: { value: unknown }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const list = numbersOf(value);
  useEffect(() => {
    if (canvas.current !== null && list !== undefined) drawStrip(canvas.current, list);
  }, [list]);
  return list === undefined || list.length === 0 ? null : <canvas ref={canvas} className="strip" />;
}

/** Size of an element, which may change while no event comes: where a phone is turned. */
function useSize(of: RefObject<Element | null>): string {
  const [size, setSize] = useState("");
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setSize(`${entry.contentRect.width} ${entry.contentRect.height}`);
    });
    if (of.current !== null) observer.observe(of.current);
    return () => observer.disconnect();
  }, [of]);
  return size;
}

interface PlotProps {
  readonly feed: ChannelFeed;
  readonly row: Row;
  /** Snapshot that was told last: a new one is drawn anew. */
  readonly version: FeedSnapshot;
}

function Plot({ feed, row, version }: PlotProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const list = numbersOf(row.value);
  const series = list === undefined ? feed.series(row.path) : undefined;
  const points = list?.length ?? series?.values.length ?? 0;
  const size = useSize(canvas);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a series grows in place, and is drawn again with each snapshot and size
  useEffect(() => {
    const on = canvas.current;
    if (on === null) return;
    if (list !== undefined) drawLine(on, undefined, list, place => String(Math.round(place)));
    else if (series !== undefined) drawLine(on, series.times, series.values, clockTime);
  }, [list, series, version, size]);
  const range = rangeOf(list ?? series?.values ?? []);
  return (
    <>
      <h2>
        {row.path}{" "}
        <span className="unit">{list === undefined ? "over time" : "by index, of the newest event"}</span>
      </h2>
      <canvas ref={canvas} className="plot" data-testid="plot" data-field={row.path} data-points={points} />
      {range !== undefined && (
        <p className="hint">
          {points} {points === 1 ? "point" : "points"}, {shortNumber(range.least)} to{" "}
          {shortNumber(range.most)}
        </p>
      )}
    </>
  );
}
