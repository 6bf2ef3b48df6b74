import { createReadStream } from 'node:fs'
import { styleText } from 'node:util'
import { createRedactor, type Redactor, type Secret } from '../../shared/redact.ts'
import { isSuccess } from '../../shared/status.ts'
import { type CliError, EXIT, type ExitCode } from '../errors.ts'

/** A stream for text, for example `process.stdout`. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

/** What a command line gets from its process. Another process, or a test, can give it something else. */
export interface Host {
  readonly stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** Stops servers. No other command reads it, so a host can catch Ctrl-C from the first read on. */
  readonly signal: AbortSignal
  /** Factor for intervals and time limits. Default: 1. A test makes it small, so that it need not wait. */
  readonly pace?: number
}

/** Periodically reports on standard error how long a task has been running. */
export interface Progress {
  update(text: string): void
  /** Removes the report from the terminal. Call this before printing a line of output. */
  clear(): void
  stop(): void
}

const COLOURS = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const
type Colours = Record<(typeof COLOURS)[number], (text: string) => string>

/**
 * Default maximum size in bytes, larger than any webhook body. Without a limit, reading `/dev/zero` or a disk by
 * mistake would exhaust the memory.
 */
const MAX_BYTES = 64 * 1024 * 1024

const GAP = '  '

/** Milliseconds until the first report. The intervals are the milliseconds between later reports. */
const DELAY = 1_000
const TERMINAL_INTERVAL = 250
const LOG_INTERVAL = 5_000

/** Input, output and result of one command line. Its output hides the secrets that it has read. */
export class Io {
  readonly host: Host
  readonly colours: Colours
  /** True with `--json`: the result is JSON, and standard error contains only an error as JSON. */
  json = false
  exitCode: ExitCode = EXIT.success
  readonly #secrets = new Set<Secret>()
  readonly #shownUrls = new Set<string>()
  #redactor: Redactor | undefined
  #isStdinRead = false

  constructor(host: Host) {
    this.host = host
    this.colours = this.#coloursFor(host.stdout)
  }

  /** Enables colours on a terminal unless `NO_COLOR` is set. `FORCE_COLOR` overrides everything else, as in Node. */
  #coloursFor({ isTTY }: Output): Colours {
    const { FORCE_COLOR, NO_COLOR, TERM } = this.host.env
    const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0'
    const isOff = (NO_COLOR !== undefined && NO_COLOR !== '') || FORCE_COLOR === '0' || TERM === 'dumb'
    const isOn = isForced || (isTTY === true && !isOff)
    const colours = COLOURS.map((name) => {
      return [name, (text: string) => (isOn ? styleText(name, text, { validateStream: false }) : text)]
    })
    return Object.fromEntries(colours)
  }

  /** Formats the status of a response; undefined means that there was no response. */
  toStatus(status: number | undefined): string {
    return isSuccess(status) ? this.colours.green(`${status}`) : this.colours.red(`${status ?? '---'}`)
  }

  /** Prints text. The caller must escape text from files or the network with `printable`. */
  print(text = ''): void {
    this.host.stdout.write(`${this.#hideInLines(text)}\n`)
  }

  printJson(value: unknown): void {
    this.host.stdout.write(`${this.toJson(value, 2)}\n`)
  }

  /** Prints the result of a command: `value` with `--json`, otherwise `text`. */
  printResult(value: unknown, text: string | (() => void)): void {
    if (this.json) this.printJson(value)
    else if (typeof text === 'string') this.print(text)
    else text()
  }

  printEvent(value: object): void {
    this.host.stdout.write(`${this.toJson(value)}\n`)
  }

  /** Prints the address of a server that runs until Ctrl-C. */
  printAddress(what: string, url: string): void {
    if (this.json) this.printEvent({ event: 'listening', url })
    else this.print(`${what} ${this.colours.bold(url)}${this.colours.dim(' (Ctrl-C stops it)')}`)
  }

  /** Prints text to standard error, for example a warning. */
  note(text: string): void {
    this.host.stderr.write(`${this.#hideInLines(text)}\n`)
  }

  /** Prints an error to standard error: the message and the hint on separate lines, or both as JSON. */
  printError({ code, message, hint }: Pick<CliError, 'code' | 'message' | 'hint'>): void {
    if (this.json) {
      this.host.stderr.write(`${this.toJson({ error: { code, message, hint } })}\n`)
      return
    }
    const { red, dim } = this.#coloursFor(this.host.stderr)
    this.note(`${red('error:')} ${printable(message)}`)
    if (hint) this.note(dim(printable(hint)))
  }

  /** Registers a key, token or password that the command has read. From then on, all output hides it. */
  keepSecret(secret: Secret): void {
    this.#secrets.add(secret)
    this.#redactor = undefined
  }

  /** From then on, output contains a URL whole, although parts of it look like secrets. */
  showUrl(url: string): void {
    this.#shownUrls.add(url)
  }

  get secrets(): Secret[] {
    return [...this.#secrets]
  }

  /** Hides the secrets in a text, like {@link Redactor.text}. */
  hide(text: string, limit?: number): string {
    let url = ''
    for (const shown of this.#shownUrls) if (shown.length > url.length && text.includes(shown)) url = shown
    if (url !== '' && limit === undefined)
      return text
        .split(url)
        .map((part) => this.hide(part))
        .join(url)
    this.#redactor ??= createRedactor(this.secrets)
    return this.#redactor.text(text, limit)
  }

  /** Hides secrets line by line, because a table can be too large to decode as a whole. */
  #hideInLines(text: string): string {
    return text
      .split('\n')
      .map((line) => this.hide(line))
      .join('\n')
  }

  /** Hides secrets in text, truncates it to `length` characters, and escapes it like `printable`. */
  shortened(text: string, length = 80): string {
    const safe = this.hide(text, length)
    const isCut = text.length > length || safe.length > length
    return printable(isCut ? `${safe.slice(0, length - 1)}…` : safe)
  }

  /** Serializes to JSON for a terminal, and hides secrets in its strings and member names. */
  toJson(value: unknown, indent?: number): string {
    return toPrintableJson(value, (text) => this.hide(text), indent)
  }

  /**
   * Prints a table without borders, with columns aligned by display width. Takes linear time, because a large service can
   * have thousands of webhooks.
   *
   * @param rows rows of cells, without line breaks
   * @param last cells of one more column, which are shortened to the rest of the terminal, or to 80 characters elsewhere
   */
  printTable(
    head: readonly string[],
    rows: readonly (readonly string[])[],
    last?: { head: string; cells: readonly string[] },
  ): void {
    const widths = head.map((name, column) =>
      rows.reduce((widest, row) => Math.max(widest, displayWidth(row[column] ?? '')), name.length),
    )
    const { isTTY, columns } = this.host.stdout
    const used = widths.reduce((sum, width) => sum + width + GAP.length, 0)
    const rest = isTTY ? Math.max(20, (columns || 80) - used) : 80
    const toLine = (cells: readonly string[], more = ''): string =>
      [...cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell))), more]
        .join(GAP)
        .trimEnd()
    const lines = rows.map((row, index) => toLine(row, this.shortened(last?.cells[index] ?? '', rest)))
    this.print([this.colours.dim(toLine(head, last?.head)), ...lines].join('\n'))
  }

  /**
   * Reads a file, or standard input if the name is `-`.
   *
   * @param maximum maximum size in bytes
   * @throws Node's error, or a RangeError if the file is too large or standard input has already been read
   */
  async readBytes(name: string, maximum: number = MAX_BYTES): Promise<Buffer> {
    // A second read would return no data, and look like an empty file.
    if (name === '-' && this.#isStdinRead) throw new RangeError('standard input can be read only once')
    this.#isStdinRead ||= name === '-'
    const stream: AsyncIterable<Uint8Array> = name === '-' ? this.host.stdin : createReadStream(name)
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of stream) {
      chunks.push(chunk)
      length += chunk.length
      if (length > maximum) throw new RangeError(`it is larger than ${maximum / 1024 ** 2} MiB`)
    }
    return Buffer.concat(chunks)
  }

  /**
   * Starts to report progress after one second. A terminal shows one line, which is updated in place; any other output
   * gets a new line every five seconds. With `--json`, there are no reports.
   */
  startProgress(text: string): Progress {
    const { stderr } = this.host
    const started = Date.now()
    let current = text
    let isShown = false
    let timer: NodeJS.Timeout | undefined

    const show = (): void => {
      const line = `${current} (${Math.round((Date.now() - started) / 1_000)} s)`
      stderr.write(stderr.isTTY ? `\r\u001b[2K${line}` : `${line}\n`)
      isShown = true
      timer = setTimeout(show, this.wait(stderr.isTTY ? TERMINAL_INTERVAL : LOG_INTERVAL)).unref()
    }

    function clear(): void {
      if (isShown && stderr.isTTY) stderr.write('\r\u001b[2K')
      isShown = false
    }

    if (!this.json) timer = setTimeout(show, this.wait(DELAY)).unref()
    return {
      update(next) {
        current = next
      },
      clear,
      stop() {
        clearTimeout(timer)
        clear()
      },
    }
  }

  /** Reports the progress of a task until it settles. */
  async withProgress<T>(text: string, task: (progress: Progress) => Promise<T>): Promise<T> {
    const progress = this.startProgress(text)
    try {
      return await task(progress)
    } finally {
      progress.stop()
    }
  }

  /** Returns the milliseconds of an interval or a time limit in this run. */
  wait(milliseconds: number): number {
    return milliseconds * (this.host.pace ?? 1)
  }

  /** Resolves when the run is stopped, for example on the first Ctrl-C. */
  untilStopped(): Promise<void> {
    const { signal } = this.host
    return new Promise((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

const GRAPHEMES = new Intl.Segmenter()
const INVISIBLE = /^[\p{Mark}\p{Cf}]*$/u
/** Emoji, and the wide and full-width characters of East Asian scripts (Unicode Standard Annex 11). */
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u

/** Returns the number of columns that a text takes in a terminal. */
function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of GRAPHEMES.segment(text))
    width += INVISIBLE.test(segment) ? 0 : WIDE.test(segment) ? 2 : 1
  return width
}

/**
 * Characters that move the cursor, change colours, start a new line or change the text direction. They are escaped so
 * that text from a file or the network cannot control the terminal.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu

/** Escapes unprintable characters, for example as `\u{1b}`. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/** Formats a value of a response. */
export function toPrintable(value: unknown): string {
  if (Array.isArray(value)) return value.map(toPrintable).join(',')
  return printable(typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? ''))
}

/** Splits text into lines, and escapes unprintable characters except tabs. */
export const printableLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => line.split('\t').map(printable).join('\t'))

/**
 * Serializes to JSON, and hides secrets in its strings and member names. Also escapes C1 controls and direction marks,
 * which `JSON.stringify` does not.
 */
export function toPrintableJson(value: unknown, hide: (text: string) => string, indent?: number): string {
  const json = JSON.stringify(value, createHideInJson(hide), indent)
  // JSON.stringify escapes line feeds in strings, so unescaped ones come from the indentation.
  return json.replace(UNPRINTABLE, (character) => (character === '\n' ? character : escapeUnits(character)))
}

/** Returns a replacer for `JSON.stringify`. Searches each member name once, because documents repeat them. */
function createHideInJson(hide: (text: string) => string): (name: string, value: unknown) => unknown {
  const names = new Map<string, string>()
  function hideName(name: string): string {
    const hidden = names.get(name) ?? hide(name)
    if (names.size < MAX_NAMES) names.set(name, hidden)
    return hidden
  }
  return (_, value) => {
    if (typeof value === 'string') return hide(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    if (Object.keys(value).every((name) => hideName(name) === name)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [hideName(name), member]))
  }
}

const MAX_NAMES = 10_000

const escapeUnits = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  }).join('')
