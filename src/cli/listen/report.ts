import { type Diagnosis, explain, type ReceiverOptions } from '../../index.ts'
import { createRedactor } from '../../shared/redact.ts'
import { count } from '../../shared/words.ts'
import { EXIT } from '../errors.ts'
import { type Capture, noteOnSecretHeader, saveCapture, toCaptureFile } from '../io/captures.ts'
import type { ReceiverProof } from '../options/signature.ts'
import { type Io, printable } from '../terminal/io.ts'
import type { ReceivedRequest } from './request-listener.ts'

/** While this many reports are pending, new refusals are not explained: explaining a flood of them takes too long. */
const MAX_PENDING = 20

interface ReporterOptions {
  /** Options of the receiver, except those that decide about no single request. */
  receiverOptions: Pick<ReceiverOptions, 'signatureKey' | 'limit' | 'unsigned'> & ReceiverProof
  /** Folder for captures. Default: none are saved. */
  save: string | undefined
  /** Maximum number of requests to report. Default: unlimited. */
  count: number | undefined
}

/**
 * Saves, explains and prints requests one after another. Sets the exit code to 1 if `count` is given and a request is
 * refused.
 */
export class Reporter {
  /** Resolves when `count` requests have been added. */
  readonly enough: Promise<void>
  readonly #io: Io
  readonly #options: ReporterOptions
  #resolveEnough = (): void => {}
  #added = 0
  #counted = 0
  #pending = 0
  #last = Promise.resolve()
  #isExplaining = true

  constructor(io: Io, options: ReporterOptions) {
    this.#io = io
    this.#options = options
    this.enough = new Promise((resolve) => {
      this.#resolveEnough = resolve
    })
  }

  /** @param isCounted whether the request is one of `count` */
  add(request: ReceivedRequest, isCounted = true): void {
    const { count } = this.#options
    if (count !== undefined && this.#counted >= count) return
    const number = ++this.#added
    const mayExplain = this.#pending++ < MAX_PENDING
    this.#last = this.#last
      .then(() => this.#report(request, number, mayExplain))
      .catch((error) => this.#io.note(printable(String(error)))) // a failed report does not stop later ones
      .finally(() => this.#pending--)
    if (count === undefined || !isCounted) return
    if (findingOf(request) === 'refused') this.#io.exitCode = EXIT.failure
    if (++this.#counted >= count) this.#resolveEnough()
  }

  async #report(request: ReceivedRequest, number: number, mayExplain: boolean): Promise<void> {
    const { save, receiverOptions } = this.#options
    const capture = save && (await saveRequest(this.#io, request, save, number, this.#options))
    const isExplained = mayExplain && this.#isExplaining
    const diagnosis = isExplained ? await explainRefusal(request, receiverOptions) : undefined
    if (this.#io.json) this.#io.printEvent(toEvent(request, diagnosis, capture))
    else printText(this.#io, request, diagnosis, capture)
  }

  /** Stops explaining refusals, so that Ctrl-C does not wait for explanations. */
  stopExplaining(): void {
    this.#isExplaining = false
  }

  /** Resolves when all reports are printed. */
  idle(): Promise<void> {
    return this.#last
  }
}

/**
 * Saves a request as a capture and returns the path. If saving fails, for example because the disk is full, prints an
 * error and returns undefined.
 */
async function saveRequest(
  io: Io,
  request: ReceivedRequest,
  folder: string,
  number: number,
  { receiverOptions }: ReporterOptions,
): Promise<string | undefined> {
  const { receivedAt, url, headers, body, outcome, status } = request
  if (!body) return undefined
  const code = outcome.error?.code
  const redactor = createRedactor(io.secrets, { ...receiverOptions.profile, ...receiverOptions })
  try {
    const capture: Capture = {
      ...request,
      url: redactor.text(url),
      headers: redactor.headers(headers),
      receivedAt: receivedAt.toISOString(),
      body,
      outcome: code === undefined ? { status } : { status, code },
    }
    const label = `${String(number).padStart(4, '0')}-${code ?? findingOf(request)}`
    const file = toCaptureFile(folder, capture, label)
    await saveCapture(file, capture)
    return file
  } catch (error) {
    const message = `cannot save a capture in ${folder}: ${(error as NodeJS.ErrnoException).code}`
    io.printError({ code: 'save_failed', message, hint: '' })
    return undefined
  }
}

/** How the receiver classified a request. */
type Finding = 'verified' | 'unsigned' | 'handshake' | 'refused'

const findingOf = ({ outcome, delivery }: ReceivedRequest): Finding => {
  if (outcome.kind === 'handshake') return 'handshake'
  if (!delivery) return 'refused'
  return delivery.keyIndex === undefined ? 'unsigned' : 'verified'
}

/** Maximum body size in bytes. Explaining larger bodies takes long, and anyone can send them. */
const MAX_EXPLAINED = 1024 * 1024

/** Explains a refusal. Returns undefined for any other outcome, or if the body is too large. */
async function explainRefusal(
  { outcome, receivedAt, method, url, headers, body }: ReceivedRequest,
  receiverOptions: ReporterOptions['receiverOptions'],
): Promise<Diagnosis | undefined> {
  const code = outcome.error?.code
  if (!code || (body && body.length > MAX_EXPLAINED)) return undefined
  const clock = (): number => receivedAt.getTime()
  return explain({ method, url, headers, body, code }, { ...receiverOptions, clock })
}

function toEvent(
  request: ReceivedRequest,
  diagnosis: Diagnosis | undefined,
  capture: string | undefined,
): object {
  const { receivedAt, method, url, body, status, outcome, delivery, forwarded, disconnected } = request
  const event = delivery?.events[0]
  return {
    event: 'request',
    receivedAt,
    finding: findingOf(request),
    status,
    code: outcome.error?.code,
    method,
    url,
    bytes: body?.length,
    id: delivery?.id,
    keyIndex: delivery?.keyIndex,
    changeTypes: delivery?.changeTypes,
    service: event?.service,
    webhook: event?.webhook,
    diagnosis,
    forwarded: forwarded && ('error' in forwarded ? forwarded : { status: forwarded.response.status }),
    disconnected: disconnected || undefined,
    capture,
  }
}

/** Prints a request as text. Escapes values that the sender controls, such as change types and header names. */
function printText(
  io: Io,
  request: ReceivedRequest,
  diagnosis: Diagnosis | undefined,
  capture: string | undefined,
): void {
  const { receivedAt, headers, body, status, outcome, delivery, forwarded } = request
  const finding = findingOf(request)
  const { dim, green, red, yellow } = io.colours
  const colour = finding === 'refused' ? red : finding === 'unsigned' ? yellow : green
  const event = delivery?.events[0]
  const source = [event?.service.serviceName, event?.webhook.name].filter(Boolean).join(' / ')
  const summary = delivery
    ? [delivery.changeTypes.join(', ') || 'no change type', source]
    : [outcome.error?.code ?? '']
  const cells = [
    dim(receivedAt.toLocaleTimeString('en-GB')),
    colour(finding.padEnd(9)),
    String(status),
    ...summary.filter(Boolean).map((cell) => io.shortened(cell)),
    ...(body ? [count(body.length, 'byte')] : []),
  ]
  io.print(cells.join('  '))
  if (diagnosis) {
    const causes = [diagnosis.cause, ...(diagnosis.also ?? [])].join(', ')
    printDetail(io, causes, `${printable(diagnosis.evidence)} Fix: ${diagnosis.fix}`)
    const note = noteOnSecretHeader(diagnosis, headers)
    if (note) printDetail(io, 'note', note)
  } else if (outcome.error?.hint) printDetail(io, 'hint', outcome.error.hint)
  if (forwarded) {
    const text = 'error' in forwarded ? forwarded.error : `answered ${forwarded.response.status}`
    printDetail(io, 'forwarded', printable(text))
  }
  if (request.disconnected) printDetail(io, 'note', 'The sender closed the connection before this response.')
  if (capture) printDetail(io, 'saved', printable(capture))
}

const printDetail = (io: Io, name: string, text: string): void =>
  io.print(`          ${io.colours.dim(`${name}:`)} ${text}`)
