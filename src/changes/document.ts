import { isObject, type Json, malformed } from './json.ts'
import type { Attachment, Changes, Feature, LayerChanges } from './types.ts'

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
    ...(edit.objectIds
      ? {
          objectIds: {
            adds: readIds(objectIds.adds, 'objectIds.adds'),
            updates: readIds(objectIds.updates, 'objectIds.updates'),
          },
        }
      : {}),
    ...(fieldUpdates ? { fieldUpdates: readIds(fieldUpdates, 'fieldUpdates') } : {}),
    ...(typeof edit.hasGeometryUpdates === 'boolean' ? { hasGeometryUpdates: edit.hasGeometryUpdates } : {}),
  }
}

function readFeatures(value: unknown, name: string): Feature[] {
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

function readAttachment(row: Json): Attachment {
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

function readList(value: unknown, name: string): Json[] {
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

function readNumber(value: unknown, name: string): number {
  if (!Number.isSafeInteger(value)) throw invalid(name, 'an integer')
  return value as number
}

const invalid = (name: string, kind: string): Error =>
  malformed(`the member ${name} of the changes is not ${kind}`)
