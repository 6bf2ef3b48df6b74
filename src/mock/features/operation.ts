import type { ServerResponse } from 'node:http'
import { tryJson } from '../../shared/json.ts'
import type { Context } from '../admin/operation.ts'
import type { User } from '../admin/tokens.ts'
import { AdminError } from '../http/errors.ts'
import type { Method, OperationDescription, ParameterDescription, Parameters } from '../http/operation.ts'
import { readBoolean, single, type UploadedFile } from '../http/request.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { Service } from '../state/services.ts'
import type { AttachmentAdd, AttachmentEdits, AttachmentUpdate, EditContext, LayerEdits } from './edits.ts'
import type { Extractions } from './extract/extractions.ts'
import type { FeatureData } from './feature-data.ts'
import { type Layer, MAX_EDITS, toIdText } from './model.ts'

/** The parts of a mock service that its feature services use. */
export interface FeatureContext extends Context {
  readonly extractions: Extractions
  /** Delivers the events of an edit, and does not wait for the deliveries. */
  publish(service: Service, events: readonly ServiceEvent[]): void
}

/** The arguments of an operation. */
export interface FeatureCall {
  context: FeatureContext
  service: Service
  data: FeatureData
  user: User
  method: Method
  parameters: Parameters
  /** Files of a form, by the name of the field. */
  files: ReadonlyMap<string, UploadedFile>
  /** The parts of the path that the template names, for example `layerId`. */
  path: Readonly<Record<string, string>>
  /** The URL of the service as the client wrote it, without a slash at its end. */
  serviceUrl: string
}

/** The result of an operation: JSON, or a response that the operation sends itself. */
export type FeatureAnswer =
  | {
      body: object
      /** Whether the state must be saved before the response. Default false. */
      changed?: boolean
      /** The events to deliver. Default: none. */
      events?: readonly ServiceEvent[]
    }
  | { send(res: ServerResponse): void }

/** An operation of a feature service. */
export interface FeatureOperation extends OperationDescription {
  /** Unique name. */
  name: string
  /** `admin` for a path below `/admin/services`; default: below `/services`. */
  area?: 'admin'
  /** The path after `FeatureServer/`; empty for the service itself. */
  path: string
  /** JSON Schema of the response, or the media type of a response that is not JSON. */
  response: Readonly<Record<string, unknown>> | string
  /** True for a request that needs no token. Default: every request needs one, if the service has `auth`. */
  isOpen?(parameters: Parameters): boolean
  run(call: FeatureCall): FeatureAnswer | Promise<FeatureAnswer>
}

export function layerOf({ data, path }: FeatureCall): Layer {
  const layer = data.layers.get(Number(path.layerId))
  if (layer) return layer
  throw new AdminError(404, 'the layer does not exist')
}

/** Reads JSON. */
export function readJson(parameters: Parameters, name: string): unknown {
  const value = single(parameters, name)
  const json = value === undefined ? undefined : tryJson(value)
  if (value !== undefined && json === undefined) throw new AdminError(400, `${name} is not valid JSON`)
  return json
}

export const BOOLEAN: ParameterDescription['schema'] = { type: 'boolean' }

/** The author, the time and the mode of the edits of a request. */
export function readContext({ context, user, parameters }: FeatureCall): Required<EditContext> {
  return {
    username: user.username,
    now: context.options.clock.now(),
    rollbackOnFailure: readBoolean(parameters, 'rollbackOnFailure') ?? true,
    useGlobalIds: readBoolean(parameters, 'useGlobalIds') ?? false,
  }
}

/** Reads a list of rows as JSON. */
export function readRows(parameters: Parameters, name: string): unknown[] | undefined {
  const rows = readJson(parameters, name)
  if (rows === undefined || Array.isArray(rows)) return rows
  throw new AdminError(400, `${name} must be a JSON array`)
}

/** Reads ids: comma-separated, or as a JSON array. */
export function readIds(parameters: Parameters, name: string): unknown[] | undefined {
  const value = single(parameters, name)
  if (value === undefined || value.trimStart().startsWith('[')) return readRows(parameters, name)
  return value
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '')
}

/** Reads the parameters of `applyEdits` on a layer. */
export const readLayerEdits = (parameters: Parameters, layerId: number): LayerEdits => ({
  layerId,
  adds: readRows(parameters, 'adds'),
  updates: readRows(parameters, 'updates'),
  deletes: readIds(parameters, 'deletes'),
  attachments: readAttachmentEdits(readJson(parameters, 'attachments')),
})

/** Reads the parameter `edits` of `applyEdits` on a service. */
export function readServiceEdits(parameters: Parameters): LayerEdits[] {
  const edits = readRows(parameters, 'edits')
  if (!edits) throw new AdminError(400, 'edits is required')
  if (edits.length > MAX_EDITS) throw new AdminError(400, `edits may have at most ${MAX_EDITS} entries`)
  return edits.map(readLayer)
}

const LISTS = ['adds', 'updates', 'deletes'] as const

function readLayer(entry: unknown): LayerEdits {
  const { id, attachments, ...lists } = (entry ?? {}) as Record<string, unknown>
  if (!Number.isInteger(id)) throw new AdminError(400, 'each entry of edits must have the id of a layer')
  return {
    layerId: id as number,
    attachments: readAttachmentEdits(attachments),
    ...readLists(lists, 'edits'),
  }
}

function readLists(
  lists: Record<string, unknown>,
  name: string,
): Partial<Record<(typeof LISTS)[number], unknown[]>> {
  const found = LISTS.flatMap((list) => {
    const rows = lists[list]
    if (rows === undefined || rows === null) return []
    if (!Array.isArray(rows)) throw new AdminError(400, `${list} of ${name} must be an array`)
    return [[list, rows]]
  })
  return Object.fromEntries(found)
}

/** Reads the attachments of `applyEdits`. */
function readAttachmentEdits(value: unknown): AttachmentEdits | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object') throw new AdminError(400, 'attachments must be an object')
  const { adds = [], updates = [], deletes = [] } = readLists(value as Record<string, unknown>, 'attachments')
  return {
    adds: adds.map(readAdd),
    updates: updates.map(readUpdate),
    deletes: deletes.map((globalId) => ({ attachment: toIdText(globalId) })),
  }
}

function readAdd(row: unknown): AttachmentAdd {
  const { globalId, parentGlobalId, ...file } = (row ?? {}) as Record<string, unknown>
  if (typeof parentGlobalId !== 'string')
    throw new AdminError(400, 'each attachment must have the parentGlobalId of its feature')
  if (globalId !== undefined && globalId !== null && typeof globalId !== 'string')
    throw new AdminError(400, 'globalId of an attachment must be a text')
  return {
    parent: parentGlobalId,
    globalId: globalId ?? undefined,
    ...readContent(file),
  }
}

function readUpdate(row: unknown): AttachmentUpdate {
  const { globalId, parentGlobalId, ...file } = (row ?? {}) as Record<string, unknown>
  if (typeof globalId !== 'string')
    throw new AdminError(400, 'each attachment to update must have its globalId')
  return {
    parent: typeof parentGlobalId === 'string' ? parentGlobalId : undefined,
    attachment: globalId,
    ...readContent(file),
  }
}

function readContent({ name, contentType, data }: Record<string, unknown>): {
  name: string
  contentType: string
  bytes: Uint8Array
} {
  if (typeof data !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(data))
    throw new AdminError(400, 'each attachment must have data in base64; the mock has no uploads')
  return {
    name: typeof name === 'string' ? name : '',
    contentType: typeof contentType === 'string' ? contentType : 'application/octet-stream',
    bytes: Uint8Array.from(Buffer.from(data, 'base64')),
  }
}

/** JSON Schemas of the responses of feature services, for the OpenAPI document. */

type Schema = Readonly<Record<string, unknown>>

const NUMBER = { type: 'number' }
const TEXT = { type: 'string' }
const listOf = (items: Schema): Schema => ({ type: 'array', items })

/** The result of one row. */
export const EDIT_RESULT: Schema = {
  type: 'object',
  properties: {
    objectId: { type: ['integer', 'null'] },
    globalId: { type: ['string', 'null'] },
    success: { type: 'boolean' },
    error: {
      type: 'object',
      properties: { code: { type: 'integer' }, description: TEXT },
      required: ['code', 'description'],
    },
  },
  required: ['objectId', 'globalId', 'success'],
}

/** An object with lists of results. */
export const EDIT_RESULTS = (...names: string[]): Schema => ({
  type: 'object',
  properties: {
    ...Object.fromEntries(names.map((name) => [name, listOf(EDIT_RESULT)])),
    editMoment: { type: 'integer' },
  },
  required: names,
})

const ALL_RESULTS = EDIT_RESULTS('addResults', 'updateResults', 'deleteResults')

export const LAYER_RESULTS: Schema = {
  ...ALL_RESULTS,
  properties: { ...(ALL_RESULTS.properties as object), id: { type: 'integer' }, attachments: ALL_RESULTS },
}

export const FEATURE: Schema = {
  type: 'object',
  properties: { attributes: { type: 'object' }, geometry: { type: 'object' } },
  required: ['attributes'],
}

/** The response of `query`: features, ids or a count. */
export const QUERY_RESULT: Schema = {
  type: 'object',
  properties: {
    objectIdFieldName: TEXT,
    globalIdFieldName: TEXT,
    geometryType: TEXT,
    spatialReference: { type: 'object', properties: { wkid: NUMBER } },
    fields: listOf({ type: 'object' }),
    features: listOf(FEATURE),
    exceededTransferLimit: { type: 'boolean' },
    objectIds: listOf({ type: 'integer' }),
    count: { type: 'integer' },
  },
}

export const ATTACHMENT_INFOS: Schema = {
  type: 'object',
  properties: {
    attachmentInfos: listOf({
      type: 'object',
      properties: {
        id: { type: 'integer' },
        globalId: TEXT,
        parentGlobalId: TEXT,
        name: TEXT,
        contentType: TEXT,
        size: { type: 'integer' },
      },
    }),
  },
  required: ['attachmentInfos'],
}
