import { ChangesError } from './errors.ts'

export type Position = number[]

/** Reads a coordinate, if the geometry has it. @throws {WebhookError} `changes_malformed` */
export function readNumber(value: unknown): number | undefined {
  if (isUnset(value)) return undefined
  if (!Number.isFinite(value)) throw malformed('has coordinates that are not numbers')
  return value as number
}

/** Reads rings or paths. @throws {WebhookError} `changes_malformed` */
export function readLines(value: unknown, name: string, hasZ: boolean): Position[][] {
  if (!Array.isArray(value)) throw malformed(`has ${name} that are not a list`)
  return value.map((line) => readPositions(line, name, hasZ))
}

export function readPositions(value: unknown, name: string, hasZ: boolean): Position[] {
  if (!Array.isArray(value)) throw malformed(`has ${name} that are not lists of positions`)
  return value.map((position) => readPosition(position, hasZ))
}

/** The third member is the altitude with `hasZ`, and a measure otherwise. GeoJSON has no measures. */
function readPosition(value: unknown, hasZ: boolean): Position {
  const [x, y, z] = Array.isArray(value) ? value : []
  const position = hasZ && !isUnset(z) ? [x, y, z] : [x, y]
  if (!position.every(Number.isFinite)) throw malformed('has a position that is not a list of numbers')
  return position
}

/** Services send null or "NaN" for coordinates that a point does not have. */
const isUnset = (value: unknown): boolean =>
  value === undefined || value === null || value === 'NaN' || Number.isNaN(value)

export const malformed = (
  problem: string,
  hint = 'Look at the feature in the service, and repair its geometry.',
): ChangesError =>
  new ChangesError('changes_malformed', { message: `the geometry of a feature ${problem}`, hint })
