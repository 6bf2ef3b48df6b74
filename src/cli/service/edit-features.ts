import { Command, InvalidArgumentError } from 'commander'
import { EXIT, usageError } from '../errors.ts'
import { collect, wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { addClientOptions, type ClientOptions, createClient, type ServiceClient } from './client.ts'
import { featureServerPath, featureServicePath, getGeneration, getObjectIdField } from './feature-layer.ts'
import { areAllApplied, parseResults, printResults } from './feature-results.ts'
import { type GivenRows, readRows, toRows } from './feature-rows.ts'
import type { ServicePath } from './webhooks.ts'

interface Options extends ClientOptions {
  layer: number
  add?: string[]
  update?: string[]
  delete?: number[]
}

/** The edits of a request. */
interface Edits {
  adds: object[]
  updates: object[]
  deletes: number[]
}

function objectIds(value: string, previous: readonly number[] = []): number[] {
  const ids = value.split(',').map((id) => id.trim())
  if (ids.every((id) => /^\d{1,15}$/.test(id))) return [...previous, ...ids.map(Number)]
  throw new InvalidArgumentError('must be object ids separated by commas, for example 3,7')
}

export function createEditFeaturesCommand(io: Io): Command {
  const command = new Command('edit-features')
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
  addClientOptions(command)
  addExamples(command, [
    'geohook edit-features Parcels --add @parcels.geojson',
    `geohook edit-features Parcels --update '{"attributes": {"OBJECTID": 3, "name": "Oak"}}' --delete 4,5`,
  ])
  return command.action(async (service: ServicePath, options: Options) => {
    const given = await readOptions(io, options)
    const client = await createClient(io, options)
    const path = featureServerPath(service)
    const { layer: layerId } = options
    const { results, generation } = await io.withProgress(`asking ${client.origin}`, async () => {
      const edits = await createEdits(client, `${path}/${layerId}`, given, options)
      const response = await client.postForm(`${path}/${layerId}/applyEdits`, toForm(edits))
      return { results: parseResults(response), generation: await getGeneration(client, path, layerId) }
    })
    if (io.json) io.printJson({ layerId, ...results, generation })
    else {
      printResults(io, results)
      if (generation !== undefined) io.print(`generation ${generation}`)
    }
    if (!areAllApplied(results)) io.exitCode = EXIT.failure
  })
}

/** @throws {CliError} exit code 2 */
async function readOptions(
  io: Io,
  { add, update, delete: ids }: Options,
): Promise<Record<'add' | 'update', GivenRows[]>> {
  if ((add ?? update ?? ids) === undefined)
    throw usageError('there is nothing to edit', 'Give --add, --update or --delete.')
  return { add: await readRows(io, '--add', add), update: await readRows(io, '--update', update) }
}

/** @param path of the layer */
async function createEdits(
  client: ServiceClient,
  path: string,
  { add, update }: Record<'add' | 'update', GivenRows[]>,
  { delete: deletes = [] }: Options,
): Promise<Edits> {
  // Only the layer tells in which attribute the id of a GeoJSON feature belongs.
  const needsName = update.some(({ isGeoJson }) => isGeoJson)
  const objectIdField = needsName ? await getObjectIdField(client, path) : undefined
  return { adds: await toRows(add, objectIdField), updates: await toRows(update, objectIdField), deletes }
}

/** Leaves out empty lists, because some services refuse them. */
function toForm({ adds, updates, deletes }: Edits): Record<string, string> {
  return {
    ...(adds.length > 0 ? { adds: JSON.stringify(adds) } : {}),
    ...(updates.length > 0 ? { updates: JSON.stringify(updates) } : {}),
    ...(deletes.length > 0 ? { deletes: deletes.join(',') } : {}),
  }
}
