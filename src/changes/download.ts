import { configInvalid } from '../errors.ts'
import { ChangesError, showUrl } from './errors.ts'
import { isObject, malformed } from './json.ts'
import type { Origins } from './origins.ts'
import { type Connection, type Ending, findFailure, guard, repeat, toEnding } from './request.ts'
import { timedOut } from './run.ts'
import { type FinalResponse, send } from './send.ts'
import type { Attachment } from './types.ts'
import { abortable } from './wait.ts'

/** Maximum size of an error that a service returns, in bytes. */
const MAX_ERROR = 16 * 1024

/** Content types that do not say whether a body is an error. */
const UNKNOWN = /^(?:$|(?:application|binary)\/octet-stream)/i
const PAGE = /^(?:text\/html|application\/xhtml\+xml)/i

type Reader = ReadableStreamDefaultReader<Uint8Array>

/**
 * Opens the bytes of an attachment.
 *
 * @param timeout until the first bytes, in milliseconds
 * @throws {WebhookError} `changes_url_refused`, `changes_token_rejected`, `changes_failed`, `changes_unavailable`,
 * `changes_malformed`, `changes_timeout`, `config_invalid`
 */
export async function openAttachment(
  attachment: Attachment,
  connection: Connection & { origins: Origins },
  timeout: number,
  given: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  given?.throwIfAborted()
  if (!isObject(attachment))
    throw configInvalid('download(attachment): attachment must be an attachment of the changes')
  if (attachment.data !== undefined) return streamOf([decodeBase64(attachment.data)])
  const url = connection.origins.require(attachment.url, 'url of the attachment')
  const deadline = new AbortController()
  // The caller's signal stays in effect while the stream is read.
  const signal = given ? AbortSignal.any([given, deadline.signal]) : deadline.signal
  const end = performance.now() + timeout
  const timer = setTimeout(() => deadline.abort(timedOut(timeout, undefined)), timeout)
  const run = { signal, remaining: () => end - performance.now() }
  try {
    const opened = repeat(url, run, connection, (token) =>
      guard(showUrl(url), signal, async () => {
        const received = await send({ url, allowsOtherOrigin: true }, token, signal, connection.fetch)
        return open(received, attachment, showUrl(url))
      }),
    )
    return await abortable(opened, signal)
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the body, unless it is an error of the service, whose HTTP status may be 200. */
async function open(
  received: FinalResponse,
  { contentType, size }: Attachment,
  shown: string,
): Promise<Ending<ReadableStream<Uint8Array>>> {
  const { response } = received
  const type = response.headers.get('content-type') ?? ''
  const reader: Reader | undefined = response.body?.getReader()
  if (!reader && response.ok) return { answer: streamOf([]) }
  const isPage = PAGE.test(type)
  const isUnknown = UNKNOWN.test(type)
  if (response.ok && !isPage && !isUnknown && !/json|text\/plain/i.test(type))
    return { answer: streamOf([], reader) }
  const { chunks, bytes, isWhole } = await readStart(reader, response.ok && isUnknown)
  const stream = (): ReadableStream<Uint8Array> => streamOf(chunks, isWhole ? undefined : reader)
  if (response.ok) {
    // The file itself can be JSON or a page.
    if ((isWhole && bytes === size) || (isPage && PAGE.test(contentType))) return { answer: stream() }
    if (!isPage && !isWhole) return { answer: stream() }
  }
  if (!isWhole) reader?.cancel().catch(() => {})
  if (response.ok && isPage) throw malformed(`the response of ${shown} is an HTML page`)
  const failure = findAttachmentError(response, chunks, shown)
  return failure ? toEnding(received, failure, shown) : { answer: stream() }
}

function findAttachmentError(
  response: Response,
  chunks: Uint8Array<ArrayBuffer>[],
  shown: string,
): { code: number; message: string } | undefined {
  let text = ''
  const decoder = new TextDecoder()
  for (const chunk of chunks) text += decoder.decode(chunk, { stream: true })
  try {
    const found = findFailure(response, text, undefined, shown)
    return 'answer' in found ? undefined : found
  } catch (error) {
    // A file that is not a JSON object.
    if (error instanceof ChangesError) return undefined
    throw error
  }
}

/** @param onlyObject whether to stop after the first chunk if it does not begin like a JSON object */
async function readStart(
  reader: Reader | undefined,
  onlyObject: boolean,
): Promise<{ chunks: Uint8Array<ArrayBuffer>[]; bytes: number; isWhole: boolean }> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  while (bytes <= MAX_ERROR) {
    const value = (await reader?.read())?.value
    if (!value) return { chunks, bytes, isWhole: true }
    chunks.push(value as Uint8Array<ArrayBuffer>)
    bytes += value.length
    if (onlyObject && chunks.length === 1 && !startsObject(value)) break
  }
  return { chunks, bytes, isWhole: false }
}

const startsObject = (chunk: Uint8Array): boolean =>
  /^\s*\{/.test(new TextDecoder().decode(chunk.subarray(0, 100)))

/** A stream of chunks that were read, and then of the rest. */
function streamOf(chunks: readonly Uint8Array[], rest?: Reader): ReadableStream<Uint8Array> {
  const first = [...chunks]
  return new ReadableStream({
    async pull(controller) {
      const chunk = first.shift() ?? (await rest?.read())?.value
      if (chunk) controller.enqueue(chunk)
      else controller.close()
    },
    cancel: (reason) => rest?.cancel(reason),
  })
}

function decodeBase64(data: string): Uint8Array {
  let text: string
  try {
    text = atob(data)
  } catch {
    throw malformed('the data of the attachment is not base64')
  }
  const bytes = new Uint8Array(text.length)
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index)
  return bytes
}
