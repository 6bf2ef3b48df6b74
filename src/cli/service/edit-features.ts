import { type Command, InvalidArgumentError } from 'commander'
import type { GeoJsonCollection } from '../../mock/index.ts'
import { tryJson } from '../../shared/json.ts'
import { count } from '../../shared/words.ts'
import { EXIT, toCliError, usageError } from '../errors.ts'
import { readJson, toRecord } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import { collect, commaList, wholeNumber } from '../options/values.ts'
import { type Io, toPrintable } from '../terminal/io.ts'
import {
  addClientOptions,
  type ClientOptions,
  notAService,
  type ServiceClient,
  type ServicePath,
  type ServiceResponse,
  servicePath,
  toUrlPath,
  withClient,
} from './client.ts'

interface Options extends ClientOptions {
  layer: number
  add?: string[]
  update?: string[]
  delete?: number[]
}

const objectIds = commaList(/^\d{1,15}$/, 'object ids separated by commas, for example 3,7', Number)

/** Parses the name of a feature service; its type can be left out. */
function featureServicePath(value: string): ServicePath {
  const service = servicePath(/\.(FeatureServer|GPServer)$/.test(value) ? value : `${value}.FeatureServer`)
  if (service.serviceType === 'FeatureServer') return service
  throw new InvalidArgumentError('must be a feature service, for example Parcels or folder/Parcels')
}

export function createEditFeaturesCommand(io: Io): Command {
  return new CliCommand('edit-features')
    .summary('edit the features of a feature service')
    .description(
      'Adds, updates and deletes features of a layer in one request, and prints the result of each. ' +
        'The service then triggers its webhooks. ' +
        'Features are Esri JSON or GeoJSON, in the option or in a file: @name. ' +
        'The exit code is 0 if all edits succeeded, otherwise 1.',
    )
    .argument('<service>', 'for example Parcels or folder/Parcels', featureServicePath)
    .option('--layer <id>', 'id of the layer', wholeNumber(0, 1_000_000), 0)
    .option('--add <json>', 'features to add, or @file; repeatable', collect)
    .option('--update <json>', 'features to update, with their object ids, or @file; repeatable', collect)
    .option('--delete <ids>', 'object ids of features to delete, separated by commas; repeatable', objectIds)
    .with(addClientOptions)
    .examples(
      'geohook edit-features Parcels --add @parcels.geojson',
      `geohook edit-features Parcels --update '{"attributes": {"OBJECTID": 3, "name": "Oak"}}' --delete 4,5`,
    )
    .action(async (service: ServicePath, options: Options) => {
      const { layer: layerId, add, update, delete: deletes = [] } = options
      if ((add ?? update ?? options.delete) === undefined)
        throw usageError('there is nothing to edit', 'Give --add, --update or --delete.')
      const added = await readRows(io, '--add', add)
      const updated = await readRows(io, '--update', update)
      const path = `/rest/services/${toUrlPath(service)}/FeatureServer`
      const { results, generation } = await withClient(io, options, async (client) => {
        // Only the layer tells in which attribute the id of a GeoJSON feature belongs.
        const needsName = updated.some(({ isGeoJson }) => isGeoJson)
        const objectIdField = needsName ? await getObjectIdField(client, `${path}/${layerId}`) : undefined
        const lists = {
          adds: JSON.stringify(await toRows(added, objectIdField)),
          updates: JSON.stringify(await toRows(updated, objectIdField)),
          deletes: deletes.join(','),
        }
        // Leaves out empty lists, because some services refuse them.
        const form = Object.entries(lists).filter(([, text]) => text !== '[]' && text !== '')
        const response = await client.postForm(`${path}/${layerId}/applyEdits`, Object.fromEntries(form))
        return { results: parseResults(response), generation: await getGeneration(client, path, layerId) }
      })
      io.printResult({ layerId, ...results, generation }, () => {
        printResults(io, results)
        if (generation !== undefined) io.print(`generation ${generation}`)
      })
      if (
        Object.values(results)
          .flat()
          .some(({ success }) => !success)
      )
        io.exitCode = EXIT.failure
    })
}

/** @param path of the layer */
async function getObjectIdField(client: ServiceClient, path: string): Promise<string> {
  const { objectIdField, fields } = await client.get(path)
  if (!Array.isArray(fields)) throw notAService('the response does not describe a layer')
  if (typeof objectIdField === 'string') return objectIdField
  const name = fields.map(toRecord).find((field) => field?.type === 'esriFieldTypeOID')?.name
  return typeof name === 'string' ? name : 'OBJECTID'
}

/** Returns the current generation of a layer; undefined if the service does not say it. */
async function getGeneration(
  client: ServiceClient,
  path: string,
  layerId: number,
): Promise<number | undefined> {
  const response = await client.get(path, { returnUpdates: 'true' }).catch((): ServiceResponse => ({}))
  const { layerServerGens } = toRecord(response.changeTrackingInfo) ?? {}
  if (!Array.isArray(layerServerGens)) return undefined
  const found = layerServerGens.map(toRecord).find((layer) => layer?.id === layerId)
  return typeof found?.serverGen === 'number' ? found.serverGen : undefined
}

/** Values of `--add` or `--update`: features in Esri JSON, and GeoJSON that is not converted yet. */
interface GivenRows {
  /** The option or the name of the file, for errors. */
  name: string
  value: unknown
  isGeoJson: boolean
}

/** Reads the values of an option: JSON, or the name of a file after `@`. */
async function readRows(io: Io, option: string, texts: readonly string[] = []): Promise<GivenRows[]> {
  const rows: GivenRows[] = []
  for (const text of texts) {
    const isFile = text.startsWith('@')
    const name = isFile ? text.slice(1) : option
    const value = isFile ? await readJson(io, name) : tryJson(text)
    if (value === undefined)
      throw usageError(`${option} is not JSON`, 'To read a file, write @ before its name.')
    const type = toRecord(value)?.type
    rows.push({ name, value, isGeoJson: type === 'Feature' || type === 'FeatureCollection' })
  }
  return rows
}

/**
 * Converts values to a list of features in Esri JSON.
 *
 * @param objectIdField the attribute for ids of GeoJSON features
 */
async function toRows(given: readonly GivenRows[], objectIdField?: string): Promise<object[]> {
  const { fromGeoJson } = await import('../../mock/index.ts')
  return given.flatMap(({ name, value, isGeoJson }) => {
    if (!isGeoJson) return toList(name, value)
    try {
      return fromGeoJson(value as GeoJsonCollection, objectIdField)
    } catch (error) {
      throw usageError(`${name}: ${toCliError(error).message}`)
    }
  })
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

const LISTS = [
  ['addResults', 'add', 'added'],
  ['updateResults', 'update', 'updated'],
  ['deleteResults', 'delete', 'deleted'],
] as const

type RowResult = ReturnType<typeof parseResult>

type EditResults = Record<(typeof LISTS)[number][0], RowResult[]>

function parseResults(response: ServiceResponse): EditResults {
  const entries = LISTS.map(([name]) => {
    const list = response[name]
    return [name, Array.isArray(list) ? list.map(parseResult) : []]
  })
  return Object.fromEntries(entries)
}

function parseResult(value: unknown) {
  const { objectId, globalId, success, error } = toRecord(value) ?? {}
  const { code, description } = toRecord(error) ?? {}
  return {
    objectId: typeof objectId === 'number' ? objectId : null,
    ...(typeof globalId === 'string' ? { globalId } : {}),
    success: success === true,
    ...(success === true
      ? {}
      : { error: { code: Number(code ?? 0), description: String(description ?? 'no reason given') } }),
  }
}

/** Maximum number of ids in one line, and of printed errors. `--json` prints all. */
const MAX_PRINTED = 20
/** The code of rows that were valid, but undone because of another row. */
const ROLLED_BACK = 1003

function printResults(io: Io, results: EditResults): void {
  for (const [name, , verb] of LISTS) {
    const done = results[name].filter(({ success }) => success)
    if (done.length === 0) continue
    const ids = done.slice(0, MAX_PRINTED).map(({ objectId }) => objectId ?? '?')
    const more = done.length > ids.length ? `, and ${done.length - ids.length} more` : ''
    io.print(`${io.colours.green(verb)} ${count(done.length, 'feature')}: ${ids.join(', ')}${more}`)
  }
  const failed = LISTS.flatMap(([name, kind]) =>
    results[name].flatMap(({ error }, index) => (error ? [{ kind, number: index + 1, ...error }] : [])),
  )
  const errors = failed.filter(({ code }) => code !== ROLLED_BACK)
  for (const { kind, number, code, description } of errors.slice(0, MAX_PRINTED))
    io.print(`${io.colours.red('failed')} ${kind} ${number}: ${code} ${toPrintable(description)}`)
  if (errors.length > MAX_PRINTED) io.print(`... and ${errors.length - MAX_PRINTED} more`)
  const undone = failed.length - errors.length
  if (undone > 0) io.print(`${count(undone, 'other edit')} not applied, because of the errors`)
}
