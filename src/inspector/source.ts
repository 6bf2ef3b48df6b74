import type { Diagnosis } from '../explain/types.ts'
import type { HeaderPairs } from '../shared/headers.ts'
import type { Html } from './html/template.ts'

/**
 * What an inspector shows: the deliveries of a mock service, of a receiver or of an inbox. The pages know only this
 * interface. No member may contain a key: a source redacts headers before it returns them.
 */
export interface Source {
  /** For the title of the page, for example `geohook mock`. */
  readonly title: string
  /** Filters that make sense for these deliveries, with the values to choose from. */
  filters(): Promise<FilterChoices>
  /** Lists deliveries, newest first. */
  list(query: ListQuery): Promise<RowPage>
  /** Resolves with undefined if the source does not have the delivery, or no longer. */
  get(id: string): Promise<Item | undefined>
  /** Actions on a delivery, in the order of their buttons. */
  readonly actions: readonly Action<Item>[]
  /** Panels, in the order of their links. */
  readonly panels: readonly Panel[]
  /** Forgets all recorded deliveries. Absent if the source cannot. */
  clear?(): Promise<void>
  /**
   * Calls the listener with the ids of deliveries that are new or have changed, and without an argument if something
   * else has changed.
   *
   * @returns a function that removes the listener
   */
  on(listener: (ids?: readonly string[]) => void): () => void
}

/** The inspector filters the listed rows itself; a source may use the filters to find rows faster. */
export interface ListQuery {
  /** Maximum number of rows, 1 to 1,000. */
  limit: number
  /** The value of `next` of the previous page. */
  after?: string | undefined
  filters: Filters
}

/** A filter with a choice of values. `outcome` is the word of an outcome. */
export type FilterName = 'service' | 'webhook' | 'type' | 'outcome'

/**
 * Filters; a missing one matches every row. `text` is text that any member of a row contains, in any case. `error` is
 * part of the error of a dead letter; only the source of an inbox applies it.
 */
export type Filters = Partial<Record<FilterName | 'text' | 'error', string>>

export type FilterChoices = Readonly<Record<FilterName, readonly string[]>>

export interface RowPage {
  rows: readonly Row[]
  /** Value of `after` for the next page; absent on the last one. */
  next?: string | undefined
  /** Which deliveries the page has, if not all of them. */
  note?: string | undefined
}

/** What happened to a delivery. */
export interface RowOutcome {
  tone: 'good' | 'bad' | 'pending' | 'neutral'
  /** For example `handled`, `refused`, `dead`. The page shows it next to the colour. */
  word: string
  /** Status of the last response. */
  status?: number | undefined
}

/** One delivery in the list. */
export interface Row {
  id: string
  /** Tells the rows of one delivery apart. Default: the id. */
  key?: string | undefined
  /** When it was received, or first sent. */
  time: Date
  /** Empty if the payload could not be decoded. */
  changeTypes: readonly string[]
  /** For example `Parcels.FeatureServer`. */
  service?: string | undefined
  /** Name of the webhook. */
  webhook?: string | undefined
  /** Path or URL that the request was sent to. */
  target?: string | undefined
  outcome: RowOutcome
  attempts: number
  /** Size of the body in bytes. */
  size: number
  /** Duration of the last attempt. */
  milliseconds?: number | undefined
  /** Shown in place of a missing service, for example a handler or an error. The text filter searches it too. */
  note?: string | undefined
}

/** One delivery with its request. */
export interface Item extends Row {
  request: {
    method: string
    /** Path and query, or the whole URL. */
    url: string
    /** The whole URL to send the request to again, if it is known. */
    address?: string | undefined
    headers: HeaderPairs
    /** Undefined if the body could not be read. */
    body: Uint8Array | undefined
    contentType: string
  }
  /** Attempts, oldest first; with fates, those of each fate. */
  attemptLog: readonly AttemptEntry[]
  /** Set if handlers have names. The members of the item are then those of the worst fate. */
  fates?: readonly ItemFate[] | undefined
  /** Further facts for the overview: name and value. Those without a value are left out. */
  facts: readonly (readonly [name: string, value: string | undefined])[]
  signature: SignatureFacts
  /** Code of the refusal, or another short reason. */
  code?: string | undefined
  /** Error text of a failed handler or connection. */
  error?: string | undefined
  /**
   * Finds out why the delivery was refused. Absent if there is nothing to explain. Called only when a page shows it,
   * because it can take 50 ms.
   */
  explain?(): Promise<Explanation | undefined>
}

/** Why a delivery was refused: a diagnosis of `explain`, or a cause that only the source knows. */
export type Explanation = Pick<Diagnosis, 'evidence' | 'fix'> & {
  cause: string
  also?: readonly string[] | undefined
}

/** What happened to a delivery with the handlers of one name. */
export interface ItemFate {
  handler: string
  outcome: RowOutcome
  /** For example the number of attempts, when the next one is due, and the last error. */
  details: string
}

/** One attempt to send or to handle a delivery. */
export interface AttemptEntry {
  number: number
  time: Date
  tone: RowOutcome['tone']
  /** For example `200`, `401`, `no response`, `in flight`, `erp: failed`. */
  result: string
  milliseconds?: number | undefined
  /** An error, or an injected fault. */
  note?: string | undefined
  /** The response. */
  answer?: { headers: HeaderPairs; body: string } | undefined
}

/** How a delivery is or should be signed. Contains no key and no right signature. */
export interface SignatureFacts {
  /** `verified`, `unsigned`, `refused` or `signed`: a sender signs, a receiver verifies. */
  state: 'verified' | 'unsigned' | 'refused' | 'signed'
  /** Name of the header or form field that carries the signature. */
  name: string
  /** What the receiver expects, for example `hex or base64`. */
  expectedEncoding: string
  /** True if the header contains the key itself, and the body is not signed. */
  isSecret?: boolean | undefined
  /** Encoding of the signature that matched. */
  encoding?: string | undefined
  /** Which key matched, for example `key 1 of 2 (newest)`. */
  key?: string | undefined
}

/** Services, request logs and inboxes have this method, under a symbol that all builds share. */
export const SOURCE: unique symbol = Symbol.for('geohook.inspector.source')

/** Anything that an inspector can show. */
export interface Inspectable {
  /** Returns the deliveries for the page. Called by `createInspector`. */
  [SOURCE](): Source
}

/** Something that the user can do. An action without fields and question is one button. */
export interface Action<Subject> {
  /** Last segment of its path, in lower case. */
  readonly name: string
  readonly label: string
  /** Fields of its form. */
  fields?(subject: Subject): readonly Field[] | Promise<readonly Field[]>
  /** Asked before the action runs, for example `Discard this delivery? It cannot be restored.` */
  question?(subject: Subject): string | Promise<string>
  /** Default: always. */
  isAvailable?(subject: Subject): boolean
  /**
   * @throws {WebhookError} `config_invalid` for input that the user can correct: the form is shown again, with the
   *   message and the input
   */
  run(subject: Subject, values: Values): Promise<Done>
}

/** The result of an action. */
export interface Done {
  /** A sentence that says what was done. */
  message: string
  /** False if the action ran without success, for example a resend that the receiver refused. Default true. */
  ok?: boolean | undefined
  /** Id of the delivery to show next. */
  delivery?: string | undefined
}

/** Values of a form by field name. A check box that is not checked is missing. */
export type Values = Readonly<Record<string, string | undefined>>

/** A field of a form. */
export interface Field {
  name: string
  label: string
  /** Default `text`. `secret` is a password field, whose value is never shown. */
  kind?: 'text' | 'multiline' | 'number' | 'choice' | 'checkbox' | 'secret' | undefined
  value?: string | undefined
  hint?: string | undefined
  /** Values of a `choice`, or of a `text` with suggestions: value and label. */
  choices?: readonly (readonly [value: string, label: string])[] | undefined
  isRequired?: boolean | undefined
}

/** A part of the page besides the deliveries, for example the services of a mock. A new panel is one file. */
export interface Panel {
  /** First segment of its path, in lower case. */
  readonly name: string
  readonly title: string
  /** A few words for its link, for example `2 webhooks`. */
  summary(): Promise<string>
  /** The content. Forms of its actions are rendered below, unless the content renders their buttons itself. */
  render(tools: PanelTools): Promise<Html>
  /** Actions on an entry of the panel, or on the panel itself. */
  readonly actions: readonly PanelAction[]
}

/** An action of a panel. Its subject is the id of an entry of the panel; empty for the panel itself. */
export interface PanelAction extends Action<string> {
  /** True if the action applies to an entry: the content then shows its button with `tools.button`. */
  readonly isOnEntry?: boolean | undefined
}

/** Given to a panel to render links and buttons. */
export interface PanelTools {
  /** A button, or a link to the form of the action if it has fields or a question. */
  button(action: string, entry?: string): Html
  /** Address of a page of the inspector, for example `/deliveries/7`. */
  href(path: string, parameters?: Readonly<Record<string, string>>): string
  /** A time of day with the whole time as its title. */
  time(time: Date): Html
}
