import { useStatus } from "@jecho/react";
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { encode } from "uqr";
import { type HandoverLink, useHandoverLink } from "../handover-link.ts";
import { useNow } from "./state.tsx";

/** A name that means this machine and no other. */
const LOOPBACK = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** The light margin that the standard asks for. */
const QUIET_MODULES = 4;

const isPhone = matchMedia("(pointer: coarse) and ((max-width: 700px) or (max-height: 500px))").matches;

/** The button and the panel with the link that another device takes this page over with. */
export function Handover(): ReactNode {
  const isLive = useStatus().state === "live";
  const [isOpen, setOpen] = useState(false);
  const { link, error, renew } = useHandoverLink(isOpen, isLive);
  const dialog = useRef<HTMLDialogElement>(null);
  // Who has handed over, or has lost the connection, has no link to show.
  const isShown = isOpen && isLive;
  useEffect(() => {
    if (isShown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isShown]);
  return (
    <>
      <button
        type="button"
        className="hand-over"
        disabled={!isLive}
        data-testid="hand-over"
        onClick={() => setOpen(true)}
      >
        {isPhone ? "Continue elsewhere" : "Continue on my phone"}
      </button>
      <dialog
        ref={dialog}
        className="handover panel"
        aria-labelledby="handover-title"
        data-testid="handover"
        onClose={() => setOpen(false)}
      >
        <header className="row">
          <h2 id="handover-title" className="grows">
            Continue on another device
          </h2>
          <button type="button" className="quiet" onClick={() => setOpen(false)}>
            Close
          </button>
        </header>
        {error !== undefined && (
          <p className="is-bad" role="alert">
            {error.code}: {error.message}
          </p>
        )}
        {link !== undefined && <Link link={link} onRenew={renew} />}
      </dialog>
    </>
  );
}

function Link({ link, onRenew }: { link: HandoverLink; onRenew: () => void }): ReactNode {
  const seconds = Math.max(0, Math.ceil((link.expiresAt - useNow(250)) / 1000));
  const isGood = seconds > 0;
  const isLoopback = LOOPBACK.test(location.hostname);
  return (
    <>
      {isLoopback ? <Unreachable /> : <Code text={link.href} isGood={isGood} />}
      <p className="hint">
        {isLoopback ? "In another browser of this machine, open" : "Scan the code, or open"} this link: it
        goes on with the same views where this page is, without a gap, and this page stops.
      </p>
      <CopyField text={link.href} isGood={isGood} />
      <p className="row" data-testid="handover-validity" data-seconds={seconds}>
        <span className="grows">{isGood ? `Good once, for ${clock(seconds)}` : "This link is too old."}</span>
        <button
          type="button"
          className={isGood ? "quiet" : "primary"}
          data-testid="handover-renew"
          onClick={onRenew}
        >
          New link
        </button>
      </p>
    </>
  );
}

function Unreachable(): ReactNode {
  return (
    <div className="unreachable" data-testid="handover-unreachable">
      <p>
        A phone cannot reach <b>{location.hostname}</b>: that is this machine alone. Start with
      </p>
      <code>npm start -- --host 0.0.0.0</code>
      <p>
        and open the page at the address in your network that it prints. Whoever is in that network can open
        it then, too.
      </p>
    </div>
  );
}

function Code({ text, isGood }: { text: string; isGood: boolean }): ReactNode {
  const { data, size } = encode(text, { ecc: "M", border: 0 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  const side = size + 2 * QUIET_MODULES;
  return (
    <svg
      className={`code${isGood ? "" : " is-old"}`}
      viewBox={`${-QUIET_MODULES} ${-QUIET_MODULES} ${side} ${side}`}
      role="img"
      aria-label="The link as a QR code"
      shapeRendering="crispEdges"
      data-testid="handover-code"
    >
      <path d={path} />
    </svg>
  );
}

function CopyField({ text, isGood }: { text: string; isGood: boolean }): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState("");
  return (
    <div className="row">
      <input
        ref={field}
        className="grows"
        readOnly
        value={text}
        aria-label="Link for the other device"
        data-testid="handover-link"
        onFocus={event => event.target.select()}
      />
      <button
        type="button"
        className={isGood ? "primary" : ""}
        disabled={!isGood}
        data-testid="handover-copy"
        onClick={() => void copy(text, field).then(isCopied => isCopied && setCopied(text))}
      >
        {copied === text ? "Copied" : "Copy link"}
      </button>
    </div>
  );
}

/**
 * The clipboard is there for pages from this machine or by https only, and may be refused to them; the old way works everywhere. Where
 * nothing does, the text is marked, to be copied by hand.
 */
async function copy(text: string, field: RefObject<HTMLInputElement | null>): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    field.current?.select();
    return document.execCommand("copy");
  }
}

function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
