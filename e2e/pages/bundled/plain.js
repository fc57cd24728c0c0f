import { connect } from "@jecho/client";

/** The least that a page may do: what it loads is measured. */
connect(location.host)
  .channel("ticks")
  .subscribe(event => {
    document.title = String(event);
  });
