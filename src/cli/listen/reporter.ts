import { createRedactor } from '../../shared/redact.ts'
import type { Capture } from '../captures/capture.ts'
import { saveCapture, toCaptureFile } from '../captures/files.ts'
import { EXIT } from '../errors.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'
import { explainRefusal, findingOf, printReport, type ReportOptions } from './print-report.ts'
import type { ReceivedRequest } from './request-listener.ts'

/** While this many reports are pending, new refusals are not explained: explaining a flood of them takes too long. */
const MAX_PENDING = 20

export interface ReporterOptions extends ReportOptions {
  /** Folder for captures. Default: none are saved. */
  save?: string | undefined
  /** Maximum number of requests to report. Default: unlimited. */
  count?: number | undefined
}

/** Saves, explains and prints requests one after another. */
export interface Reporter {
  add(request: ReceivedRequest): void
  /** Resolves when `count` requests have been added. */
  readonly enough: Promise<void>
  /** Stops explaining refusals, so that Ctrl-C does not wait for explanations. */
  stopExplaining(): void
  /** Resolves when all reports are printed. */
  idle(): Promise<void>
}

/** Creates a reporter. It sets the exit code to 1 if `count` is given and a request is refused. */
export function createReporter(io: Io, options: ReporterOptions): Reporter {
  const { save, count } = options
  let added = 0
  let pending = 0
  let last = Promise.resolve()
  let isExplaining = true
  let resolveEnough = (): void => {}
  const enough = new Promise<void>((resolve) => {
    resolveEnough = resolve
  })

  async function report(request: ReceivedRequest, number: number, mayExplain: boolean): Promise<void> {
    const capture = save === undefined ? undefined : await saveRequest(io, request, save, number, options)
    const diagnosis = mayExplain && isExplaining ? await explainRefusal(request, options) : undefined
    printReport(io, { request, diagnosis, capture })
  }

  return {
    enough,
    add(request) {
      if (count !== undefined && added >= count) return
      const number = ++added
      const mayExplain = pending < MAX_PENDING
      pending++
      last = last
        .then(() => report(request, number, mayExplain))
        .catch((error) => io.note(printable(String(error)))) // a failed report does not stop later ones
        .finally(() => pending--)
      if (count === undefined) return
      if (findingOf(request) === 'refused') io.exitCode = EXIT.failure
      if (added >= count) resolveEnough()
    },
    stopExplaining() {
      isExplaining = false
    },
    idle: () => last,
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
  { receiverOptions }: ReportOptions,
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
