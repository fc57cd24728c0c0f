"use client";
/** React's hooks for JEcho. */
export { type EventsState, type UseEventsOptions, useEvents } from "./events.ts";
export { type OpenedProducer, useDemand, useProducer } from "./producer.ts";
export {
  JechoProvider,
  type JechoProviderProps,
  useChannel,
  useReconnect,
  useSession,
  useStatus,
} from "./provider.ts";
export { type SharedState, useShared } from "./shared.ts";
