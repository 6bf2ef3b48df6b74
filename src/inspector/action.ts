import type { Html } from './html/template.ts'

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
  href(path: string): string
  /** A time of day with the whole time as its title. */
  time(time: Date): Html
}
