import { WebhookError } from '../../errors.ts'
import type { Feature } from '../types.ts'

/** The ids of a feature. */
export interface FeatureIds {
  key: string
  /** The object id, if the key is another id. */
  objectId: string | undefined
}

const GLOBAL_ID = ['globalid']
const OBJECT_ID = ['objectid', 'fid', 'oid']

/** Maximum length of an id, so that it fits into the index of every store. */
const MAX_LENGTH = 200

/** Services send the same global id with and without braces, and in either case. */
export const toKey = (id: string): string => id.replace(/^\{|\}$/g, '').toLowerCase()

/**
 * Creates a function that finds the ids of the features of one layer.
 *
 * @param idField name of the attribute with the id. Default: the global id, or the object id of a feature without one
 * @throws {WebhookError} `changes_malformed` if a feature has no usable id
 */
export function createIdReader(layer: number, idField: string | undefined): (feature: Feature) => FeatureIds {
  const findId = createFinder(idField === undefined ? GLOBAL_ID : [idField.toLowerCase()])
  const findObjectId = createFinder(OBJECT_ID)

  return ({ attributes }) => {
    const objectId = findObjectId(attributes)
    const id = findId(attributes) ?? (idField === undefined ? objectId : undefined)
    if (id === undefined)
      throw malformed(
        `a feature of layer ${layer} has no ${idField ?? 'global id and no object id'}`,
        'Set the option idField of createSnapshots to the name of the attribute that identifies a feature.',
      )
    requireUsable(layer, id)
    const key = toKey(id)
    return { key, objectId: objectId === key ? undefined : objectId }
  }
}

/** Returns the global id of a feature as a key, if it has one. */
export function createGlobalIdReader(): (feature: Feature) => string | undefined {
  const find = createFinder(GLOBAL_ID)
  return ({ attributes }) => {
    const id = find(attributes)
    return id === undefined ? undefined : toKey(id)
  }
}

/** @throws {WebhookError} `changes_malformed` */
export function requireUsable(layer: number, id: string): void {
  if (id.length > MAX_LENGTH || /\p{C}/u.test(id))
    throw malformed(
      `an id of layer ${layer} is longer than ${MAX_LENGTH} characters or has control characters`,
      'Set the option idField of createSnapshots to an attribute with short ids.',
    )
}

/** Finds the value of the first of these attributes, in any case. The features of a layer have the same names. */
function createFinder(names: readonly string[]): (attributes: Record<string, unknown>) => string | undefined {
  let known: string | undefined
  return (attributes) => {
    if (known === undefined || !Object.hasOwn(attributes, known)) known = findName(attributes, names)
    const value = known === undefined ? undefined : attributes[known]
    if (typeof value === 'number') return String(value)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
}

function findName(attributes: Record<string, unknown>, names: readonly string[]): string | undefined {
  const given = Object.keys(attributes)
  for (const name of names) {
    const found = given.find((candidate) => candidate.toLowerCase() === name)
    if (found !== undefined) return found
  }
  return undefined
}

const malformed = (message: string, hint: string): WebhookError =>
  new WebhookError('changes_malformed', { message, hint })
