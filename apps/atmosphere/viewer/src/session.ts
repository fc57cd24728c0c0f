/** The page's own part beside @jecho/react: how it connects, its subscriptions, and what steers. */
import {
  type ConcentratorPlace,
  type ConnectOptions,
  JechoError,
  type Session,
  type Status,
  type View,
} from "@jecho/client";
import { useChannel, useProducer, useSession } from "@jecho/react";
import {
  type Dispatch,
  type SetStateAction,
  useCallback,
  useEffect,
  useEffectEvent,
  useState,
  useSyncExternalStore,
} from "react";
import { CHANNELS, Steering } from "../../src/types.ts";
import { accessToken } from "./access-token.ts";
import { FieldSubscription } from "./field-subscription.ts";
import type { FieldEvent, FieldSnapshot, Mode } from "./field-view.ts";
import type { HandedPage, HandedView, KeptView } from "./handed-page.ts";
import { StatusFeed, type StatusSnapshot } from "./status-feed.ts";

/** A page must be back soon after its gateway is. */
const LONGEST_BACKOFF_MS = 5000;
/** Before a subscription is asked for again, where the refusal says that this may help. */
const RETRY_MS = 5000;

const CONNECTING: Status = { state: "connecting", since: Date.now() };

/** Place that the address asks for the connection to be in (`?place=here`): by default the SharedWorker of all tabs. */
function placeOf(search: string): { readonly place?: ConcentratorPlace } {
  const place = new URLSearchParams(search).get("place");
  return place === "here" || place === "worker" || place === "shared" ? { place } : {};
}

/** Other gateways of its cluster, where the address says their ports (`?others=8081,8082`). */
function othersOf({ protocol, hostname, search }: Location): readonly string[] {
  const ports = new URLSearchParams(search).get("others")?.split(",") ?? [];
  return ports.filter(port => /^\d{1,5}$/.test(port)).map(port => `${protocol}//${hostname}:${port}`);
}

/**
 * How the page connects. @param onError is told of trouble that no view is to blame for; @param handover the token by which the session takes over what
 * another device had open
 */
export function connectOptions(
  onError: (error: JechoError) => void,
  handover: string | undefined,
): ConnectOptions {
  const access = accessToken();
  return {
    name: "atmosphere viewer",
    // Looked up for each connection: a newer one may have been pasted.
    ...(access !== undefined && { token: () => accessToken() ?? access }),
    ...placeOf(location.search),
    others: othersOf(location),
    backoff: { mostMs: LONGEST_BACKOFF_MS },
    onError,
    ...(handover !== undefined && { handover }),
  };
}

const NO_STATUS: StatusSnapshot = {
  channel: CONNECTING,
  simulation: undefined,
  receivedAt: 0,
  gapMs: 0,
  intervalMs: undefined,
  restartedAt: 0,
  producedBytes: 0,
};
const never = (): (() => void) => () => {};

/** The simulation's own word on itself. `label` is what its subscription is called for another device. */
export function useStatusFeed(
  label: string,
  handed: HandedPage | undefined,
): {
  feed: StatusFeed | undefined;
  latest: StatusSnapshot;
} {
  const [attempt, setAttempt] = useState(0);
  const session = useSession();
  const [feed, setFeed] = useState<StatusFeed>();
  const open = useEffectEvent((on: Session) => {
    // Handed over is it once, to that session.
    const inherited = attempt === 0 && handed?.session === on ? handed.status : undefined;
    return new StatusFeed(on, label, inherited);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt is a new feed
  useEffect(() => {
    if (session === undefined) return;
    const opened = open(session);
    setFeed(opened);
    return () => {
      opened.close();
      setFeed(undefined);
    };
  }, [session, attempt]);
  useEffect(() => feed?.relabel(label), [feed, label]);
  const latest = useSyncExternalStore(feed?.subscribe ?? never, feed?.snapshot ?? (() => NO_STATUS));
  useRetry(latest.channel, setAttempt);
  return { feed, latest };
}

export interface Subscribed {
  readonly subscription: FieldSubscription | undefined;
  readonly snapshot: FieldSnapshot;
  readonly mode: Mode;
  readonly setMode: (mode: Mode) => void;
  /** Opens a new subscription in place of one that was refused. */
  readonly retry: () => void;
}

const NO_FIELD: FieldSnapshot = {
  status: CONNECTING,
  mode: { kind: "filter" },
  isChanging: false,
  isReplay: false,
  resumed: undefined,
  placements: [],
  fault: undefined,
};

export interface SubscriptionOptions {
  /** Is told what the subscription is called, whenever that changes. */
  readonly onLabel: (label: string) => void;
  /** Is asked for the view when the subscription opens. */
  readonly initial: () => View;
  readonly receive: (event: FieldEvent) => void;
  /** View that was open in its place: on another device, or here before. */
  readonly before: HandedView | KeptView | undefined;
}

/** A subscription of its own. The functions need not stay the same. */
export function useSubscription({ onLabel, initial, receive, before }: SubscriptionOptions): Subscribed {
  const session = useSession();
  const [attempt, setAttempt] = useState(0);
  const [subscription, setSubscription] = useState<FieldSubscription>();
  const [wantedMode, setWantedMode] = useState<Mode>(before?.mode ?? { kind: "filter" });
  const open = useEffectEvent(
    (on: Session) =>
      new FieldSubscription(on, {
        view: initial(),
        mode: wantedMode,
        receive: event => handle(event),
        onLabel: label => relabel(label),
        // Handed over is it once, to that session.
        inherited: attempt === 0 && isHanded(before) && before.session === on ? before.inherited : undefined,
      }),
  );
  const handle = useEffectEvent(receive);
  const relabel = useEffectEvent(onLabel);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt is a new subscription
  useEffect(() => {
    if (session === undefined) return;
    const opened = open(session);
    setSubscription(opened);
    return () => {
      opened.close();
      setSubscription(undefined);
    };
  }, [session, attempt]);
  const snapshot = useSyncExternalStore(
    subscription?.subscribe ?? never,
    subscription?.snapshot ?? (() => NO_FIELD),
  );
  useRetry(snapshot.status, setAttempt);
  const setMode = useCallback(
    (wanted: Mode) => {
      setWantedMode(wanted);
      void subscription?.setMode(wanted);
    },
    [subscription],
  );
  const retry = useCallback(() => setAttempt(count => count + 1), []);
  // What was wanted and refused is not what is in force.
  const isOpen = snapshot.status.state === "live" && !snapshot.isChanging;
  return { subscription, snapshot, mode: isOpen ? snapshot.mode : wantedMode, setMode, retry };
}

function isHanded(view: HandedView | KeptView | undefined): view is HandedView {
  return view !== undefined && "inherited" in view;
}

/** Counts another attempt in a while, where what ended the last one passes. */
function useRetry({ state, error }: Status, setAttempt: Dispatch<SetStateAction<number>>): void {
  const mayRetry = state === "refused" && error?.retry === true;
  useEffect(() => {
    if (!mayRetry) return;
    const timer = setTimeout(() => setAttempt(count => count + 1), RETRY_MS);
    return () => clearTimeout(timer);
  }, [mayRetry, setAttempt]);
}

export type Command = Partial<Steering> & { readonly command: string };

/** Function that sends steering commands, and the error where it cannot. */
export function useSteering(): {
  steer: ((command: Command) => void) | undefined;
  error: JechoError | undefined;
} {
  const { producer, error: unopened } = useProducer(useChannel(CHANNELS.steering, Steering));
  const [refused, setRefused] = useState<JechoError>();
  useEffect(() => producer && setRefused(undefined), [producer]);
  const steer = useCallback(
    (command: Command) => {
      // The simulation's own answer: what it refuses is an error here, and nobody else's.
      producer?.publishSync({ value: 0, latitude: 0, longitude: 0, layer: 0, amount: 0, ...command }).then(
        () => setRefused(undefined),
        reason => setRefused(JechoError.from(reason)),
      );
    },
    [producer],
  );
  return { steer: producer && steer, error: unopened ?? refused };
}
