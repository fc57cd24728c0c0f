import {
  type Codec,
  type ConnectOptions,
  connect,
  type EventChannel,
  type Session,
  type Status,
  type Type,
} from "@jecho/client";
import {
  createContext,
  createElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";

/** Either an address, for a session of the provider's own, or a session that somebody else closes. */
export type JechoProviderProps = { readonly children?: ReactNode } & (
  | {
      /** The gateway's, as `connect` takes it. Another one is another session. */
      readonly address: string;
      /** Options of `connect`, as they are when a session is made, or what is asked for them then. */
      readonly options?: ConnectOptions | (() => ConnectOptions);
      /** None: there is one way or the other. */
      readonly session?: undefined;
    }
  | {
      /** A session that there is already. */
      readonly session: Session;
      /** None: the session has its own. */
      readonly address?: undefined;
      /** None: the session has its own. */
      readonly options?: undefined;
    }
);

/** Before a session whose end may pass is followed by a new one. */
const SUCCEED_MS = 500;

/** Context that a provider gives to the components in it. */
interface Provided {
  readonly session: Session | undefined;
  /** Makes another session; undefined where the session is somebody else's. */
  readonly reconnect: (() => void) | undefined;
}

const nothing = (): void => {};
const ProvidedContext = createContext<Provided>({ session: undefined, reconnect: undefined });

/** Status without a session: on a server, and while its page is being taken over, which looks the same at any time. */
const ON_SERVER: Status = { state: "connecting", since: 0 };
const CONNECTING: Status = { state: "connecting", since: Date.now() };

/** Whether a session has ended by what may pass, as where its connection's thread has died. */
function mayPass({ state, error }: Status): boolean {
  return state === "refused" && error?.retry === true;
}

/**
 * Gives the components in it a session with a gateway: connects when it is mounted, and closes the session when it goes. A session that ended by what may pass
 * (`error.retry`) is followed by a new one. Nothing is connected on a server.
 *
 * @throws JechoError `ARGUMENT_INVALID` to the nearest error boundary, for an address that is none
 */
export function JechoProvider({ children, address, options, session }: JechoProviderProps): ReactNode {
  const [own, setOwn] = useState<Session>();
  const [failure, setFailure] = useState<unknown>();
  const [attempt, setAttempt] = useState(0);
  const again = useCallback(() => setAttempt(count => count + 1), []);
  const newest = useRef(options);
  useEffect(() => {
    newest.current = options;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt is a new session
  useEffect(() => {
    if (address === undefined) return;
    let opened: Session;
    try {
      opened = connect(address, typeof newest.current === "function" ? newest.current() : newest.current);
    } catch (error) {
      setFailure(error);
      return;
    }
    setOwn(opened);
    let successor: ReturnType<typeof setTimeout> | undefined;
    const stop = opened.onStatus(status => {
      if (mayPass(status)) successor = setTimeout(again, SUCCEED_MS);
    });
    return () => {
      stop();
      clearTimeout(successor);
      setOwn(undefined);
      void opened.close();
    };
  }, [address, attempt, again]);
  const value = useMemo(
    () => (address === undefined ? { session, reconnect: undefined } : { session: own, reconnect: again }),
    [address, session, own, again],
  );
  if (failure !== undefined) throw failure;
  return createElement(ProvidedContext.Provider, { value }, children);
}

/** The session of the nearest `JechoProvider`; undefined before that has connected, and on a server. */
export function useSession(): Session | undefined {
  return useContext(ProvidedContext).session;
}

/** Begins again with a new session, by the provider's newest options: for one that was refused. Does nothing where the session is somebody else's. */
export function useReconnect(): () => void {
  return useContext(ProvidedContext).reconnect ?? nothing;
}

/** A session or consumer, which has a status. */
interface HasStatus {
  readonly status: Status;
  onStatus(listener: (status: Status) => void): () => void;
}

/**
 * How something is doing: the provider's session, unless another session or a consumer is given. It is `connecting` while there is none, and `reconnecting`
 * where the provider is about to make a new one.
 */
export function useStatus(of?: HasStatus): Status {
  const { session, reconnect } = useContext(ProvidedContext);
  const watched = of ?? session;
  const subscribe = useCallback((changed: () => void) => watched?.onStatus(changed) ?? nothing, [watched]);
  const status = useSyncExternalStore(
    subscribe,
    () => watched?.status ?? CONNECTING,
    () => ON_SERVER,
  );
  const isFollowed = reconnect !== undefined && watched === session && mayPass(status);
  return useMemo(() => (isFollowed ? { ...status, state: "reconnecting" } : status), [isFollowed, status]);
}

/**
 * A channel of the provider's session, whose events are bytes; undefined while there is none.
 *
 * @throws JechoError `CHANNEL_NAME_INVALID`, `ARGUMENT_INVALID`, to the nearest error boundary
 */
export function useChannel(name: string): EventChannel<Uint8Array> | undefined;
/** The same, with the type of its events, or `json()`, from outside of the component or memoized: another one is another channel. */
export function useChannel<T>(name: string, type: Type<T> | Codec<T>): EventChannel<T> | undefined;
export function useChannel<T>(name: string, type?: Type<T> | Codec<T>): EventChannel<T> | undefined {
  const session = useSession();
  return useMemo(
    () =>
      type === undefined
        ? (session?.channel(name) as EventChannel<T> | undefined)
        : session?.channel(name, type),
    [session, name, type],
  );
}
