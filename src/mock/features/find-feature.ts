import { type EditContext, EditError } from './edits.ts'
import type { StagedLayer } from './layer-data.ts'
import { type Feature, findField, toGlobalId, toIdText } from './model.ts'

/** The id of the feature that a row names: its object id or, with `useGlobalIds`, its global id. */
export function idOf(
  { layer }: StagedLayer,
  attributes: Readonly<Record<string, unknown>>,
  { useGlobalIds }: Pick<EditContext, 'useGlobalIds'>,
): unknown {
  const wanted = useGlobalIds ? layer.systemFields.globalId : layer.systemFields.objectId
  const name = Object.keys(attributes).find((name) => findField(layer, name)?.name === wanted)
  if (name !== undefined) return attributes[name]
  throw useGlobalIds
    ? new EditError(1020, 'Missing GlobalID.')
    : new EditError(1011, `Object is missing: there is no ${wanted}.`)
}

/**
 * Finds a feature by its object id or its global id; with `useGlobalIds`, only by its global id.
 *
 * @throws {EditError} 1011
 */
export function find(
  staged: StagedLayer,
  id: unknown,
  { useGlobalIds }: Pick<EditContext, 'useGlobalIds'>,
): Feature {
  const globalId = toGlobalId(id)
  const objectId = toObjectId(id)
  const feature =
    useGlobalIds || globalId !== undefined ? staged.withGlobalId(globalId ?? '') : staged.get(objectId ?? -1)
  if (feature) return feature
  throw new EditError(1011, `Object is missing: ${JSON.stringify(toIdText(id).slice(0, 64))}.`, {
    objectId: objectId ?? null,
    globalId: globalId ?? null,
  })
}

/** Reads an object id, which a parameter writes as a text. */
function toObjectId(id: unknown): number | undefined {
  const isNumber = typeof id === 'number' || (typeof id === 'string' && /^\d{1,15}$/.test(id))
  return isNumber && Number.isSafeInteger(Number(id)) ? Number(id) : undefined
}

/**
 * Reads the global id that an added row brings.
 *
 * @throws {EditError} 1020, 1021, 1016 or 1022
 */
export function newGlobalId(staged: StagedLayer, attributes: Readonly<Record<string, unknown>>): string {
  const given = idOf(staged, attributes, { useGlobalIds: true })
  if (given === null || given === '') throw new EditError(1021, 'Empty GlobalID.')
  const globalId = toGlobalId(given)
  if (globalId === undefined)
    throw new EditError(1016, 'Setting of value for GlobalID failed. It must be a UUID.')
  if (staged.withGlobalId(globalId))
    throw new EditError(
      1022,
      'Unique constraint violation error on inserting the value: the GlobalID exists.',
    )
  return globalId
}
