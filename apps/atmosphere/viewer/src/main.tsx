import { createRoot } from "react-dom/client";
import { AnyChannelPage, useChannelName } from "./any-channel/page.tsx";
import { App } from "./app.tsx";
import "./styles.css";

function Page() {
  const channel = useChannelName();
  const address = location.origin;
  return channel === undefined ? (
    <App address={address} />
  ) : (
    <AnyChannelPage address={address} name={channel} />
  );
}

// Where there is none, the page starts with its gateway only.
if (import.meta.env.PROD) void navigator.serviceWorker?.register("/service-worker.js").catch(() => {});

createRoot(document.getElementById("root") as HTMLElement).render(<Page />);
