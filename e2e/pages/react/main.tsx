import { StrictMode, Suspense } from "react";
import { createRoot, type Root } from "react-dom/client";
import { App } from "./app.tsx";

declare global {
  /** Unmounts all of it. */
  var leave: () => void;
}

/** A part of the page that is never there keeps nobody else waiting. */
const never = new Promise<string>(() => {});
function Never(): string {
  throw never;
}

const root: Root = createRoot(document.querySelector("main") as HTMLElement);
root.render(
  <StrictMode>
    <Suspense fallback="">
      <App />
    </Suspense>
    <Suspense fallback="waiting">
      <Never />
      <App />
    </Suspense>
  </StrictMode>,
);
globalThis.leave = () => root.unmount();
