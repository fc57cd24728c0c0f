import type { JechoError } from "@jecho/client";
import { JechoProvider, useReconnect, useSession, useStatus } from "@jecho/react";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { AnyChannelPage, useChannelName } from "./any-channel/page.tsx";
import { App, type AppProps } from "./app.tsx";
import { useHandoverToken } from "./handover-link.ts";
import { SignIn, wantsToken } from "./panels/sign-in.tsx";
import { connectOptions } from "./session.ts";
import "./styles.css";

function Page() {
  const token = useHandoverToken();
  return <Connected key={token} token={token} />;
}

/** One session, which with a token takes over what another device had open. */
function Connected({ token }: { token: string | undefined }) {
  /** A token is good once: what comes after begins anew. */
  const [handover, setHandover] = useState(token);
  const [fault, setFault] = useState<JechoError>();
  return (
    <JechoProvider address={location.origin} options={() => connectOptions(setFault, handover)}>
      <Seen handover={handover} onUsed={() => setHandover(undefined)} fault={fault} onFault={setFault} />
    </JechoProvider>
  );
}

type SeenProps = Omit<AppProps, "onRetry"> & { readonly onFault: (fault: undefined) => void };

/** How long the session's newest trouble stands on a page that goes on. */
const FAULT_MS = 60_000;

/** The page that the address names, seen through the session. */
function Seen({ handover, onUsed, fault, onFault }: SeenProps) {
  const session = useSession();
  const { error } = useStatus();
  const reconnect = useReconnect();
  const channel = useChannelName();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new session has had no trouble
  useEffect(() => onFault(undefined), [session, onFault]);
  useEffect(() => {
    if (fault === undefined) return;
    const timer = setTimeout(onFault, FAULT_MS, undefined);
    return () => clearTimeout(timer);
  }, [fault, onFault]);
  const retry = (): void => {
    onUsed();
    reconnect();
  };
  if (wantsToken(error)) return <SignIn error={error} onRetry={retry} />;
  return channel === undefined ? (
    <App handover={handover} onUsed={onUsed} fault={fault} onRetry={retry} />
  ) : (
    <AnyChannelPage name={channel} fault={fault} />
  );
}

// Where there is none, the page starts with its gateway only.
if (import.meta.env.PROD) void navigator.serviceWorker?.register("/service-worker.js").catch(() => {});

createRoot(document.getElementById("root") as HTMLElement).render(<Page />);
