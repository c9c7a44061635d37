/** A client for agent servers. The frames are described in full by the server's `/asyncapi.json`. */

export interface Citation {
  file: string;
  snippet: string;
  lines?: [number, number];
  heading?: string;
  source?: number;
  spans?: [number, number][];
  when?: string;
  by?: string;
}
export interface Stream {
  type: "stream";
  delta: string;
  id?: string;
  sources?: number[];
}
export interface StreamEnd {
  type: "stream_end";
  reason: "done" | "cancelled";
  id?: string;
}
export interface Response {
  type: "response";
  text: string;
  citations: Citation[];
  id?: string;
  confidence?: "low" | "med" | "high";
  blocked?: { code: string; message?: string; [field: string]: unknown };
  asks?: boolean;
  withoutMemory?: boolean;
}
export interface ActionSuggestion {
  type: "action_suggestion";
  suggestionId: string;
  action: string;
  payload: Record<string, unknown>;
  expiresAt?: number;
  id?: string;
  missing?: string[];
  risk?: "low" | "medium" | "high";
  sources?: Record<string, string>;
  why?: string[];
  approved?: boolean;
}
export interface ActionExecuted {
  type: "action_executed";
  suggestionId: string;
  result: Record<string, unknown>;
  action?: string;
  payload?: Record<string, unknown>;
  id?: string;
}
export interface ActionClosed {
  type: "action_closed";
  suggestionId: string;
  reason: string;
}
export interface FeedbackStored {
  type: "feedback_stored";
  message: string;
  verdict: "up" | "down";
  text?: string;
  id?: string;
}
/** The first event of a turn for which the client had to connect again. */
export interface Reconnected {
  type: "reconnected";
  /** Suggestions that can no longer be confirmed. */
  lost: string[];
  /** Whether the server goes on with the same conversation. */
  continues: boolean;
}
export type TurnEvent = Stream | StreamEnd | Response | ActionSuggestion | ActionExecuted | Reconnected;
export type Outcome = ActionExecuted | ActionClosed;

export class AgentError extends Error {
  /** Of the server's `error`, or of the WebSocket's close. */
  readonly code?: string | number;
}
export class CannotConnect extends AgentError {}
export class ConnectionLost extends AgentError {}
export class RequestRefused extends AgentError {}

export interface ConnectOptions {
  /** The server's token, or a user's. */
  token?: string;
  /** The secret of a client without a user's token, from `makeVisitor`: the server's memory of it belongs to that. */
  visitor?: string;
  /** In place of the global `WebSocket`, such as that of the package `ws`. */
  WebSocket?: unknown;
  /** Takes suggestions and outcomes that come after their turn is over. */
  onEvent?: (event: ActionSuggestion | Outcome) => void;
}
export interface AskOptions {
  /** The language to answer in, such as "en"; by default that of the question. */
  lang?: string;
  /** Cancels the turn; the loop throws the signal's reason. */
  signal?: AbortSignal;
}

export class Agent {
  /** The conversation's thread, where the server has memory. */
  readonly thread: string;
  /** Leaving the loop over the events cancels the turn. Throws `ConnectionLost`, `RequestRefused`, `CannotConnect`. */
  ask(text: string, options?: AskOptions): AsyncIterableIterator<TurnEvent>;
  /** `payload` fills in what the suggestion lacks. After `ConnectionLost` the action may have been carried out. */
  confirm(suggestionId: string, payload?: Record<string, unknown>): Promise<Outcome>;
  reject(suggestionId: string): Promise<Outcome>;
  /** Of an answer of this connection; `message` is the id of its response. Resolves once it is stored. */
  feedback(message: string, verdict: "up" | "down", text?: string): Promise<FeedbackStored>;
  /** Cancel what is in progress, and everything that waits for a confirm. */
  cancel(): void;
  /** Connect now; `ask` does so by itself. */
  open(): Promise<void>;
  close(): void;
}
export function connect(url?: string, options?: ConnectOptions): Agent;

/** A new secret for `visitor`: make it once and keep it. */
export function makeVisitor(): string;

export const UNAUTHORISED: number;
export const UNSPOKEN: readonly number[];
export function retryDelay(event: { reason: string }, attempts: number): number;
/** One WebSocket and its frames, on which `Agent` and the chat page stand. */
export class Connection {
  constructor(
    url: string,
    options: {
      opened?: () => void;
      received: (frame: Record<string, any>) => void;
      ended: (event: { code: number; reason: string }) => void;
      /** Takes the server's voice: PCM, 16-bit little-endian, mono, 16 kHz. */
      sounded?: (audio: ArrayBuffer) => void;
      WebSocket?: unknown;
    },
  );
  readonly isOpen: boolean;
  /** `voice`: whether to talk and listen, with a server that does. */
  open(token?: string | null, visitor?: string | null, voice?: boolean): void;
  send(frame: object): void;
  /** Sends 20 to 100 ms of audio, in the form that `sounded` takes. */
  sendAudio(audio: ArrayBuffer): void;
  close(): void;
}
