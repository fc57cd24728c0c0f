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
  useState,
  useSyncExternalStore,
} from "react";

/** Either an address, for a session of the provider's own, or a session that somebody else closes. */
export type JechoProviderProps = { readonly children?: ReactNode } & (
  | {
      /** The gateway's, as `connect` takes it. Another one is another session. */
      readonly address: string;
      /** Options of `connect`, as they are when the session is made; a new provider (`key`) takes others. */
      readonly options?: ConnectOptions;
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

const SessionContext = createContext<Session | undefined>(undefined);

/** Of whom there is no session yet, on the server, and while the page is being taken over. */
const CONNECTING: Status = { state: "connecting", since: 0 };
const nothing = (): void => {};

/**
 * Gives the components in it a session with a gateway: connects when it is mounted, and closes the session when it goes. Nothing is connected on a server.
 *
 * @throws JechoError `ARGUMENT_INVALID` to the nearest error boundary, for an address that is none
 */
export function JechoProvider({ children, address, options, session }: JechoProviderProps): ReactNode {
  const [own, setOwn] = useState<Session>();
  const [failure, setFailure] = useState<unknown>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: an object that is written anew each time is no other session
  useEffect(() => {
    if (address === undefined) return;
    let opened: Session;
    try {
      opened = connect(address, options);
    } catch (error) {
      setFailure(error);
      return;
    }
    setOwn(opened);
    return () => {
      setOwn(undefined);
      void opened.close();
    };
  }, [address]);
  if (failure !== undefined) throw failure;
  return createElement(SessionContext.Provider, { value: session ?? own }, children);
}

/** The session of the nearest `JechoProvider`; undefined before that has connected, and on a server. */
export function useSession(): Session | undefined {
  return useContext(SessionContext);
}

/** What has a status: a session, or a consumer. */
interface HasStatus {
  readonly status: Status;
  onStatus(listener: (status: Status) => void): () => void;
}

/** How something is doing: the provider's session, unless another session or a consumer is given; `connecting` while there is none. */
export function useStatus(of?: HasStatus): Status {
  const session = useSession();
  const watched = of ?? session;
  const subscribe = useCallback((changed: () => void) => watched?.onStatus(changed) ?? nothing, [watched]);
  return useSyncExternalStore(
    subscribe,
    () => watched?.status ?? CONNECTING,
    () => CONNECTING,
  );
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
