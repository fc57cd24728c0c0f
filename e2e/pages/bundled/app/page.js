"use client";
import { useEffect } from "react";
import { start } from "../page.js";

export default function Page() {
  useEffect(() => {
    const session = start();
    return () => void session.close();
  }, []);
  return <p>What has come stands in the title.</p>;
}
