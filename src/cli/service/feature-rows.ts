import type { GeoJsonCollection } from '../../mock/index.ts'
import { toCliError, usageError } from '../errors.ts'
import { readJson, toRecord } from '../io/json.ts'
import type { Io } from '../terminal/io.ts'

/** Values of `--add` or `--update`: features in Esri JSON, and GeoJSON that is not converted yet. */
export interface GivenRows {
  /** The option or the name of the file, for errors. */
  name: string
  value: unknown
  isGeoJson: boolean
}

/** Reads the values of an option: JSON, or the name of a file after `@`. @throws {CliError} exit code 2 */
export async function readRows(io: Io, option: string, texts: readonly string[] = []): Promise<GivenRows[]> {
  const rows: GivenRows[] = []
  for (const text of texts) {
    const isFile = text.startsWith('@')
    const name = isFile ? text.slice(1) : option
    const value = isFile ? await readJson(io, name) : parse(option, text)
    const type = toRecord(value)?.type
    rows.push({ name, value, isGeoJson: type === 'Feature' || type === 'FeatureCollection' })
  }
  return rows
}

/** @throws {CliError} exit code 2 */
function parse(option: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(`${option} is not JSON`, 'To read a file, write @ before its name.')
  }
}

/**
 * Converts values to a list of features in Esri JSON.
 *
 * @param objectIdField the attribute for ids of GeoJSON features
 * @throws {CliError} exit code 2
 */
export async function toRows(
  given: readonly GivenRows[],
  objectIdField: string | undefined,
): Promise<object[]> {
  const rows: object[] = []
  for (const { name, value, isGeoJson } of given) {
    for (const row of isGeoJson ? await convert(name, value, objectIdField) : toList(name, value))
      rows.push(row)
  }
  return rows
}

async function convert(name: string, value: unknown, objectIdField?: string): Promise<object[]> {
  const { fromGeoJson } = await import('../../mock/index.ts')
  try {
    return fromGeoJson(value as GeoJsonCollection, objectIdField)
  } catch (error) {
    throw usageError(`${name}: ${toCliError(error).message}`)
  }
}

/** A feature, a list of features, or an object with one. */
function toList(name: string, value: unknown): object[] {
  const features = toRecord(value)?.features ?? value
  const list: unknown[] = Array.isArray(features) ? features : [features]
  if (list.every(isFeature)) return list
  throw usageError(
    `${name} has no features`,
    'Give a feature like {"attributes": {"name": "Oak"}, "geometry": {"x": 7, "y": 51}}, a list of them, or GeoJSON.',
  )
}

function isFeature(value: unknown): value is object {
  const row = toRecord(value)
  return toRecord(row?.attributes) !== undefined || toRecord(row?.geometry) !== undefined
}
