import type { JechoError } from "@jecho/client";
import { type FormEvent, type ReactNode, useState } from "react";
import { accessToken, keepAccessToken } from "../access-token.ts";

/** Asks for a token where the gateway takes nobody without a good one. */
export function SignIn({ error, onRetry }: { error: JechoError; onRetry: () => void }): ReactNode {
  const [text, setText] = useState("");
  // A link has its token behind the #.
  const token = text.trim().replace(/^.*#token=/, "");
  const enter = (event: FormEvent): void => {
    event.preventDefault();
    if (token === "") return;
    keepAccessToken(token);
    onRetry();
  };
  return (
    <main className="taking-over" data-testid="sign-in">
      <h1>Atmosphere</h1>
      <p role="alert">
        {error.code === "KICKED"
          ? "An operator ended the connections of this token's owner. It takes a newer token to come back."
          : accessToken() === undefined
            ? "This gateway takes those alone who bring a token."
            : "This gateway does not take the token of this page."}
      </p>
      <form className="row" onSubmit={enter}>
        <label className="field">
          <span>Token or link</span>
          <input
            type="password"
            autoComplete="off"
            value={text}
            data-testid="token"
            onChange={event => setText(event.target.value)}
          />
        </label>
        <button type="submit" className="primary" disabled={token === ""}>
          Open
        </button>
      </form>
      <p className="hint">
        {error.code}: {error.message}
      </p>
    </main>
  );
}

/** Whether another token is what may help. */
export function wantsToken(error: JechoError | undefined): error is JechoError {
  return error?.code === "TOKEN_INVALID" || error?.code === "TOKEN_EXPIRED" || error?.code === "KICKED";
}
