import type { JechoError } from "@jecho/client";
import { useSession } from "@jecho/react";
import { type CSSProperties, type ReactNode, useCallback, useEffect, useEffectEvent, useState } from "react";
import { LAYER_PRESSURES_HPA } from "../../src/model/layers.ts";
import { colourMap } from "./drawing/colour-map.ts";
import { ColourRange } from "./drawing/colour-range.ts";
import { clamp, normaliseLongitude, type Place } from "./drawing/projection.ts";
import { type HandedPage, handedPage, lookLabel } from "./handed-page.ts";
import { keepColours, keptColours } from "./kept-colours.ts";
import type { Look } from "./look.ts";
import { lookOf, PageAddress, scalesOf, viewsOf } from "./page-address.ts";
import type { PageState } from "./page-state.ts";
import { PageHead } from "./panels/header.tsx";
import { LookPanel } from "./panels/look-panel.tsx";
import { PeoplePanel } from "./panels/people-panel.tsx";
import { SteeringPanel } from "./panels/steering.tsx";
import { TakingOver } from "./panels/taking-over.tsx";
import { TrafficPanel } from "./panels/traffic-panel.tsx";
import { useStatusFeed } from "./session.ts";
import { Traffic } from "./traffic.ts";
import { type Arrangement, arrange, arrangementOf } from "./views/arrangement.ts";
import { GlobeView } from "./views/globe.tsx";
import { MapView } from "./views/map.tsx";
import { SectionView } from "./views/section.tsx";
import { ShownViews } from "./views/shown-views.ts";

const TOP_LAYER = LAYER_PRESSURES_HPA.length - 1;
/** 10 hPa, where most of the ozone is. */
const FIRST_LAYER = LAYER_PRESSURES_HPA.indexOf(10);

export interface AppProps {
  /** The token by which the session takes over what another device had open; undefined once it has, or where it does not. */
  readonly handover: string | undefined;
  readonly onUsed: () => void;
  /** The newest trouble that no view is to blame for. */
  readonly fault: JechoError | undefined;
  /** Begins again with a new session: for one that was refused. */
  readonly onRetry: () => void;
}

/** The whole page: the desk with what is seen through the session. */
export function App({ handover, onUsed, fault, onRetry }: AppProps): ReactNode {
  const session = useSession();
  const [handed, setHanded] = useState<HandedPage>();
  const keep = useEffectEvent((page: HandedPage): void => {
    setHanded(page);
    onUsed();
  });
  useEffect(() => {
    if (session === undefined || handover === undefined) return;
    // Why it fails stands in the session's status.
    session.inheritance().then(
      inheritance => keep(handedPage(session, inheritance)),
      () => {},
    );
  }, [session, handover]);
  // What another device had is on the desk from the beginning; until it is known there is none.
  if (handover !== undefined) return <TakingOver onRetry={onRetry} />;
  return <Desk key={handed === undefined ? "" : "handed"} handed={handed} fault={fault} onRetry={onRetry} />;
}

type DeskProps = Pick<AppProps, "fault" | "onRetry"> & { readonly handed: HandedPage | undefined };

/** Choices that all views have in common, and who gets to know of them. */
function Desk({ handed, fault, onRetry }: DeskProps): ReactNode {
  const [arrangement] = useState(() => {
    const kinds = handed?.views.map(({ kind }) => kind) ?? [];
    return kinds.length > 0 ? arrange(kinds) : arrangementOf(location.search);
  });
  const [before] = useState(() => handed?.views ?? viewsOf(location.search, arrangement.kinds));
  const [look, setLook] = useState<Look>(() => ({
    layer: FIRST_LAYER,
    longitude: 0,
    colours: colourMap(keptColours()),
    smooth: true,
    source: undefined,
    isPicking: false,
    ...(handed?.look ?? lookOf(location.search)),
  }));
  const label = lookLabel(look);
  const { feed, latest } = useStatusFeed(label, handed);
  const [traffic] = useState(() => new Traffic());
  const [views] = useState(() => new ShownViews());
  useEffect(() => feed && traffic.produced.add(feed.produced), [traffic, feed]);
  useEffect(() => feed && traffic.of("status").add(feed), [traffic, feed]);
  const [address] = useState(() => new PageAddress(before));
  const page: PageState = { feed, latest, traffic, views, address };
  const [layerRange] = useState(() => new ColourRange(scalesOf(location.search).scale));
  const [sectionRange] = useState(() => new ColourRange(scalesOf(location.search).sectionScale));
  const change = useCallback((patch: Partial<Look>) => setLook(before => ({ ...before, ...patch })), []);

  useEffect(() => keepColours(look.colours.name), [look.colours]);
  useEffect(() => address.setLook(look), [address, look]);
  useEffect(() => {
    const keep = (): void =>
      address.setScales({ scale: layerRange.locked, sectionScale: sectionRange.locked });
    const stops = [layerRange.subscribe(keep), sectionRange.subscribe(keep)];
    addEventListener("pagehide", address.flush);
    keep();
    return () => {
      for (const stop of stops) stop();
      removeEventListener("pagehide", address.flush);
      address.flush();
    };
  }, [address, layerRange, sectionRange]);

  const chooseLayer = useCallback((layer: number) => change({ layer: clamp(layer, 0, TOP_LAYER) }), [change]);
  const stepLayer = useCallback(
    (by: number) => setLook(before => ({ ...before, layer: clamp(before.layer + by, 0, TOP_LAYER) })),
    [],
  );
  /** A section runs along one column of the grid: the nearest. */
  const snap = useCallback(
    (longitude: number) => {
      const step = 360 / (feed?.current.simulation?.columns ?? 144);
      return normaliseLongitude(Math.round(longitude / step) * step);
    },
    [feed],
  );
  const chooseLongitude = useCallback(
    (longitude: number) => change({ longitude: snap(longitude) }),
    [change, snap],
  );
  const choosePlace = useCallback(
    (place: Place) =>
      setLook(before =>
        before.isPicking
          ? { ...before, source: place, isPicking: false }
          : { ...before, longitude: snap(place.longitude) },
      ),
    [snap],
  );
  useEscape(() => change({ isPicking: false }));

  const section = {
    page,
    look,
    range: sectionRange,
    onLayer: chooseLayer,
    onLayerStep: stepLayer,
    onLongitude: chooseLongitude,
  };
  const earth = { page, look, onPlace: choosePlace, onLayerStep: stepLayer, range: layerRange };
  return (
    <>
      <PageHead page={page} fault={fault} onRetry={onRetry} />
      <main className="desk">
        <div className="views" style={styleOf(arrangement)}>
          {arrangement.kinds.map((kind, i) => {
            // Their places are theirs: the arrangement stays as it is for as long as the page is open.
            const key = `${kind} ${i}`;
            const place = { place: i, before: before[i] };
            if (kind === "map") return <MapView key={key} {...place} {...earth} />;
            if (kind === "globe") return <GlobeView key={key} {...place} {...earth} />;
            return <SectionView key={key} {...place} {...section} />;
          })}
        </div>
        <aside className="rail" aria-label="Controls">
          <LookPanel look={look} topLayer={TOP_LAYER} onChange={change} />
          <SteeringPanel page={page} look={look} onChange={change} />
          <PeoplePanel page={page} />
          <TrafficPanel page={page} />
        </aside>
      </main>
    </>
  );
}

/** The usual arrangement is the style sheet's. */
function styleOf({ gridTemplate }: Arrangement): CSSProperties | undefined {
  return gridTemplate === undefined ? undefined : ({ "--arrangement": gridTemplate } as CSSProperties);
}

function useEscape(leave: () => void): void {
  const onEscape = useEffectEvent(leave);
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => {
      if (event.key === "Escape") onEscape();
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}
