import { type ReactNode, useCallback, useEffect, useEffectEvent, useState } from "react";
import { LAYER_PRESSURES_HPA } from "../../src/model/layers.ts";
import { colourMap } from "./drawing/colour-map.ts";
import { ColourRange } from "./drawing/colour-range.ts";
import { clamp, normaliseLongitude, type Place } from "./drawing/projection.ts";
import { lookLabel } from "./handed-page.ts";
import { useHandoverToken } from "./handover-link.ts";
import { keepColours, keepLook, keptColours, keptLook, keptView } from "./kept-page.ts";
import type { Look } from "./look.ts";
import type { PageState } from "./page-state.ts";
import { PageHead } from "./panels/header.tsx";
import { LookPanel } from "./panels/look-panel.tsx";
import { SteeringPanel } from "./panels/steering.tsx";
import { TakingOver } from "./panels/taking-over.tsx";
import { TrafficPanel } from "./panels/traffic-panel.tsx";
import { type SessionState, useSession, useStatusFeed, useSteering } from "./session.ts";
import { Traffic } from "./traffic.ts";
import { arrange, arrangementOf } from "./views/arrangement.ts";
import { GlobeView } from "./views/globe.tsx";
import { MapView } from "./views/map.tsx";
import { SectionView } from "./views/section.tsx";

const TOP_LAYER = LAYER_PRESSURES_HPA.length - 1;
/** 10 hPa, where most of the ozone is. */
const FIRST_LAYER = LAYER_PRESSURES_HPA.indexOf(10);

/** The whole page: one session, and the desk with what is seen through it. */
export function App({ address }: { address: string }): ReactNode {
  const token = useHandoverToken();
  const sessionState = useSession(address, token);
  const { handed, isTakingOver } = sessionState;
  // What another device had is on the desk from the beginning; until it is known there is none.
  if (isTakingOver) return <TakingOver state={sessionState} />;
  return <Desk key={handed === undefined ? "" : token} sessionState={sessionState} />;
}

/** What is chosen in common, and who gets to know of it. */
function Desk({ sessionState }: { sessionState: SessionState }): ReactNode {
  const { session, status, fault, handed, retry } = sessionState;
  const [arrangement] = useState(() => {
    const kinds = handed?.views.map(({ kind }) => kind) ?? [];
    return kinds.length > 0 ? arrange(kinds) : arrangementOf(location.search);
  });
  const [before] = useState(() =>
    arrangement.kinds.map((kind, i) => (handed === undefined ? keptView(i, kind) : handed.views[i])),
  );
  const [look, setLook] = useState<Look>(() => ({
    layer: FIRST_LAYER,
    longitude: 0,
    colours: colourMap(keptColours()),
    smooth: true,
    source: undefined,
    isPicking: false,
    ...(handed?.look ?? keptLook()),
  }));
  const label = lookLabel(look);
  const { feed, latest } = useStatusFeed(session, label, handed);
  const steering = useSteering(session);
  const [traffic] = useState(() => new Traffic());
  const page: PageState = { session, status, feed, latest, traffic };
  const [layerRange] = useState(() => new ColourRange());
  const [sectionRange] = useState(() => new ColourRange());
  const change = useCallback((patch: Partial<Look>) => setLook(before => ({ ...before, ...patch })), []);

  useEffect(() => layerRange.show(String(look.layer)), [layerRange, look.layer]);
  useEffect(() => sectionRange.show("all"), [sectionRange]);
  useEffect(() => keepColours(look.colours.name), [look.colours]);
  useEffect(() => keepLook(label), [label]);

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
      <PageHead page={page} fault={fault} onRetry={retry} />
      <main className="desk">
        <div className="views" style={{ gridTemplate: arrangement.gridTemplate }}>
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
          <SteeringPanel
            steering={steering}
            latest={latest}
            isLive={status.state === "live"}
            look={look}
            onChange={change}
          />
          <TrafficPanel page={page} />
        </aside>
      </main>
    </>
  );
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
