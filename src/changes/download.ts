import { configInvalid } from '../errors.ts'
import { fromBinary } from '../shared/bytes.ts'
import { showUrl } from '../shared/client.ts'
import { isObject, type Json } from '../shared/json.ts'
import { ChangesError, malformed } from './errors.ts'
import {
  type Connection,
  type Ending,
  type FinalResponse,
  findFailure,
  repeat,
  runWithin,
  send,
  toEnding,
} from './request.ts'
import type { Attachment, Changes, Feature, LayerChanges } from './types.ts'

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
  connection: Connection,
  timeout: number,
  given: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  given?.throwIfAborted()
  if (!isObject(attachment))
    throw configInvalid('download(attachment): attachment must be an attachment of the changes')
  if (attachment.data !== undefined) return streamOf([decodeBase64(attachment.data)])
  const url = connection.origins.require(attachment.url, 'url of the attachment')
  return runWithin(timeout, given, (run) => {
    // The caller's signal stays in effect while the stream is read.
    const signal = given ? AbortSignal.any([given, run.signal]) : run.signal
    return repeat(url, { ...run, signal }, connection, async (token) => {
      const received = await send({ url, allowsOtherOrigin: true }, token, signal, connection)
      return open(received, attachment, showUrl(url))
    })
  })
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
  try {
    return fromBinary(atob(data))
  } catch {
    throw malformed('the data of the attachment is not base64')
  }
}

/** A change document has at least one of these members. */
const MEMBERS = ['edits', 'layerServerGens', 'extent', 'responseType']

/** A document without edits that names a file is not complete: the file has the edits. */
export const isDocument = (answer: Json): boolean =>
  MEMBERS.some((member) => Object.hasOwn(answer, member)) && !namesFile(answer)

/** True if the edits are in a file, as after a job. */
export const namesFile = ({ edits, resultUrl }: Json): boolean =>
  !Array.isArray(edits) && typeof resultUrl === 'string' && resultUrl !== ''

/**
 * Reads a change document. Members that are absent or null are empty lists. Rows are handed over as they were parsed,
 * so that a large document is not in memory twice.
 *
 * @throws {WebhookError} `changes_malformed`
 */
export function readDocument(document: Json, service: string): Changes {
  if (!isDocument(document)) throw malformed(`the changes of ${service} have none of the members ${MEMBERS}`)
  return {
    layers: readList(document.edits, 'edits').map((edit) => readLayer(edit, service)),
    layerServerGens: readList(document.layerServerGens, 'layerServerGens').map((item) => ({
      service,
      id: readNumber(item.id, 'layerServerGens.id'),
      serverGen: readNumber(item.serverGen, 'layerServerGens.serverGen'),
    })),
  }
}

function readLayer(edit: Json, service: string): LayerChanges {
  const features = readMember(edit, 'features')
  const objectIds = readMember(edit, 'objectIds')
  const attachments = readMember(edit, 'attachments')
  const idsOf = (name: string): (number | string)[] => readIds(objectIds[name], `objectIds.${name}`)
  const deleteIds = features.deleteIds ?? objectIds.deletes
  const deleted = readFeatures(features.deletes, 'features.deletes')
  const fieldUpdates = features.fieldUpdates ?? objectIds.fieldUpdates ?? edit.fieldUpdates
  return {
    service,
    id: readNumber(edit.id, 'edits.id'),
    adds: readFeatures(features.adds, 'features.adds'),
    updates: readFeatures(features.updates, 'features.updates'),
    deletes: {
      ids: readIds(deleteIds ?? deleted.map(idOf), 'deleteIds').map(String),
      ...(features.deletes ? { features: deleted } : {}),
    },
    attachments: {
      adds: readList(attachments.adds, 'attachments.adds').map(readAttachment),
      updates: readList(attachments.updates, 'attachments.updates').map(readAttachment),
      deleteIds: readIds(attachments.deleteIds, 'attachments.deleteIds').map(String),
    },
    ...(edit.objectIds ? { objectIds: { adds: idsOf('adds'), updates: idsOf('updates') } } : {}),
    ...(fieldUpdates ? { fieldUpdates: readIds(fieldUpdates, 'fieldUpdates') } : {}),
    ...(typeof edit.hasGeometryUpdates === 'boolean' ? { hasGeometryUpdates: edit.hasGeometryUpdates } : {}),
  }
}

export function readFeatures(value: unknown, name: string): Feature[] {
  const rows = readList(value, name)
  for (const [index, row] of rows.entries()) {
    if (!isObject(row.attributes)) throw invalid(`${name}.attributes`, 'an object')
    if (row.geometry === null) rows[index] = { attributes: row.attributes }
    else if (row.geometry !== undefined && !isObject(row.geometry))
      throw invalid(`${name}.geometry`, 'an object')
  }
  return rows as unknown as Feature[]
}

/** The id of a deleted feature whose service sends rows only: its global id, otherwise its object id. */
function idOf({ attributes }: Feature): unknown {
  const values = new Map(Object.entries(attributes).map(([name, value]) => [name.toLowerCase(), value]))
  return values.get('globalid') ?? values.get('objectid')
}

export function readAttachment(row: Json): Attachment {
  const text = (name: string): string => (typeof row[name] === 'string' ? row[name] : '')
  // JSON also has numbers such as 1e400, which become Infinity.
  const number = (name: string): number => {
    const value = typeof row[name] === 'string' ? Number(row[name]) : row[name]
    return Number.isSafeInteger(value) ? (value as number) : 0
  }
  return {
    attachmentId: number('attachmentId'),
    globalId: text('globalId'),
    parentGlobalId: text('parentGlobalId'),
    name: text('name'),
    contentType: text('contentType'),
    size: number('size'),
    ...(text('url') ? { url: text('url') } : {}),
    ...(text('data') ? { data: text('data') } : {}),
  }
}

function readMember(value: Json, name: string): Json {
  const member = value[name] ?? {}
  if (!isObject(member)) throw invalid(name, 'an object')
  return member
}

export function readList(value: unknown, name: string): Json[] {
  const list = value ?? []
  if (!Array.isArray(list) || !list.every(isObject)) throw invalid(name, 'a list of objects')
  return list
}

function readIds(value: unknown, name: string): (number | string)[] {
  const list = value ?? []
  if (!Array.isArray(list) || !list.every((id) => typeof id === 'string' || Number.isFinite(id)))
    throw invalid(name, 'a list of ids')
  return list
}

export function readNumber(value: unknown, name: string): number {
  if (Number.isSafeInteger(value)) return value as number
  throw invalid(name, 'an integer')
}

const invalid = (name: string, kind: string): Error =>
  malformed(`the member ${name} of the response is not ${kind}`)
