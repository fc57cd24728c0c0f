/** A worker of a page: one session's concentrator. */
import { Hubs } from "./hubs.ts";
import { loadProduction } from "./late-program.ts";
import { serve } from "./serve.ts";

/** Time for what was handed to the connection to be out. */
const LINGER_MS = 3000;

const scope = globalThis as unknown as Pick<MessagePort, "postMessage" | "onmessage" | "close">;

serve(
  {
    sharesMemory: true,
    post: (message, transfer = []) => scope.postMessage(message, transfer),
    listen: receive => {
      scope.onmessage = ({ data }) => receive(data);
    },
    close: () => void setTimeout(() => scope.close(), LINGER_MS),
  },
  new Hubs({ loadProduction }),
);
