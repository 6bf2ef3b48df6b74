import { basename } from 'node:path'
import { Command } from 'commander'
import type {
  GeoJsonCollection,
  MockService,
  MockServiceOptions,
  Notice,
  ServiceSeed,
  Snapshot,
  SnapshotSeed,
  TokenUser,
} from '../../mock/index.ts'
import { type CliError, toCliError, usageError } from '../errors.ts'
import { readJson, toRecord } from '../io/files.ts'
import { toPortError } from '../io/server.ts'
import { type CaOptions, caOption, readCas } from '../options/ca.ts'
import {
  addWrittenSignatureOptions,
  choice,
  type Dialect,
  dialectOption,
  type WrittenSignature,
} from '../options/signature.ts'
import { collect, port, wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io, Progress } from '../terminal/io.ts'
import { printNotice, printStart } from './report.ts'
import { openStateFile, type StateFile } from './state-file.ts'

/** The services that exist if no seed is given. */
const DEFAULT_SERVICES: SnapshotSeed['services'] = [
  { serviceName: 'Parcels', serviceType: 'FeatureServer' },
  { serviceName: 'Analysis', serviceType: 'GPServer' },
]

const FIRST_STEPS = `To create a webhook and trigger a delivery, in another shell:
  $ geohook create Parcels.FeatureServer --name edits --hook-url http://127.0.0.1:3000/ --key-file key.txt
  $ geohook trigger Parcels.FeatureServer FeaturesCreated

A seed file:
  {"services": [{"serviceName": "Analysis", "serviceType": "GPServer"},
                {"serviceName": "Parcels", "serviceType": "FeatureServer", "layers": [
                  {"name": "trees", "features": [{"attributes": {"kind": "oak"}, "geometry": {"x": 7, "y": 51}}]}]}],
   "webhooks": [{"serviceName": "Parcels", "serviceType": "FeatureServer", "name": "edits",
                 "hookUrl": "http://127.0.0.1:3000/", "signatureKey": "3f1c"}]}
`

export function createMockCommand(io: Io): Command {
  const command = new Command('mock')
    .summary('run a mock service that stores webhooks and sends deliveries')
    .description(
      'Runs a mock of the service on this machine: it stores webhooks, supports the administration operations, and ' +
        'signs and sends real deliveries. Open its address in a browser to see them. Without a seed, it has the services Parcels.FeatureServer and ' +
        'Analysis.GPServer and no webhooks. With a state file, every acknowledged change survives a crash.',
    )
  addMockOptions(command)
  addExamples(command, [
    'geohook mock',
    'geohook mock --seed seed.json --state state.json',
    'geohook mock --features parcels.geojson --features trees.geojson',
    'geohook mock --port 0 --service-version 11.1 --json',
    'geohook mock --encoding base64 --prefix sha256= --fan-out layer',
  ])
  command.addHelpText('after', FIRST_STEPS)
  return command.action((options) => runMock(io, options))
}

async function runMock(io: Io, options: MockOptions): Promise<void> {
  const state = options.state === undefined ? undefined : await openStateFile(io, options.state)
  const saving = { isEnabled: false }
  try {
    await serve(io, await createService(io, options, state, saving), state, saving, options)
  } finally {
    await state?.release()
  }
}

/**
 * Saving is disabled until the service listens. Otherwise a failed start could leave a state file, which would replace
 * the seed of the next start.
 */
interface Saving {
  isEnabled: boolean
}

async function createService(
  io: Io,
  options: MockOptions,
  state: StateFile | undefined,
  saving: Saving,
): Promise<MockService> {
  const { state: stateFile, users: usersFile, features: featureFiles = [] } = options
  const given: SnapshotSeed =
    options.seed === undefined ? { services: DEFAULT_SERVICES } : await readSeed(io, options.seed)
  const seed = withServices(given, await readFeatureFiles(io, featureFiles))
  const seedFile =
    [...(options.seed === undefined ? [] : [options.seed]), ...featureFiles].join(', ') || undefined
  const users = usersFile === undefined ? undefined : await readJson(io, usersFile)
  const ca = await readCas(io, options)
  const { createMockService, createRunningClock, tokens } = await import('../../mock/index.ts')
  const auth =
    users === undefined ? undefined : checkFile(usersFile, () => tokens({ users: users as TokenUser[] }))
  const { services, webhooks, settings } = seed
  const save = async (snapshot: Snapshot): Promise<void> => {
    if (!saving.isEnabled) return
    try {
      await state?.save(snapshot)
    } catch (error) {
      io.printError(toCliError(error))
      throw error // the client that made the change also gets an error
    }
  }
  const service = checkFile(seedFile, () =>
    // A reset restores these services, webhooks and settings, even if the state file replaces them below.
    createMockService({
      ...toServiceOptions(options),
      services,
      webhooks,
      settings,
      auth,
      ca,
      save,
      clock: createRunningClock(), // the inspector can advance it
    }),
  )
  // restore() validates the whole content before it changes or saves anything.
  if (state?.content === undefined) checkFile(seedFile, () => service.restore(seed))
  else checkFile(stateFile, () => service.restore(state.content as SnapshotSeed))
  return service
}

async function serve(
  io: Io,
  service: MockService,
  state: StateFile | undefined,
  saving: Saving,
  { port, ...options }: MockOptions,
): Promise<void> {
  const quiet = options.quiet === true
  // Called before the address is printed, because a script may stop the mock as soon as it has read the address.
  const stopped = io.untilStopped()
  let closing: Progress | undefined
  try {
    await service.listen(port).catch((error) => {
      throw toPortError(error, port, '127.0.0.1')
    })
    saving.isEnabled = true
    // Saves the generated ids, so that they are the same after a restart.
    await state?.save(service.snapshot())
    if (!quiet) {
      service.on((notice: Notice) => {
        closing?.clear()
        printNotice(io, notice)
      })
    }
    printStart(io, service.url, service.snapshot(), quiet)
    await stopped
  } finally {
    closing = io.startProgress('waiting for deliveries in flight')
    await service.close()
    closing.stop()
  }
}

async function readSeed(io: Io, file: string): Promise<SnapshotSeed> {
  const seed = toRecord(await readJson(io, file))
  if (!seed)
    throw usageError(
      `${file}: a seed must be a JSON object`,
      'For example {"services": [], "webhooks": []}',
      'file_invalid',
    )
  return seed
}

/** Runs `check` on the content of a file. @throws {CliError} exit code 2, with the file name, if `check` throws */
function checkFile<T>(file: string | undefined, check: () => T): T {
  try {
    return check()
  } catch (error) {
    const { message, hint }: CliError = toCliError(error)
    throw usageError(file === undefined ? message : `${file}: ${message}`, hint, 'file_invalid')
  }
}

interface MockOptions extends WrittenSignature, CaOptions {
  port: number
  seed?: string
  features?: string[]
  state?: string
  serviceVersion: '11.1' | '11.2' | '11.3'
  like: 'service' | 'enterprise' | 'online' | 'portal'
  dialect?: Dialect
  gather?: 'never' | 'scheduled' | 'always'
  omitted: 'keep' | 'reset'
  always200?: true
  errorFormat?: 'messages' | 'error'
  changesUrl?: 'partial' | 'whole' | 'none'
  fanOut: 'webhook' | 'layer'
  featuresEdited?: 'precise' | 'edited'
  handshake?: number
  concurrency: number
  allowHost?: string[]
  users?: string
  quiet?: true
}

function addMockOptions(command: Command): Command {
  command
    .option('--port <n>', 'port to listen on; 0 picks a free one', port, 4000)
    .option('--seed <file>', 'JSON file with the initial services and webhooks; it can contain keys')
    .option(
      '--features <file>',
      'GeoJSON file, which becomes a feature service with the name of the file; repeatable',
      collect,
    )
    .option('--state <file>', 'save all changes in this file; once it exists, it replaces the seed')
    .addOption(
      choice(
        '--service-version <version>',
        'version of the service to imitate',
        ['11.1', '11.2', '11.3'],
        '11.3',
      ),
    )
    .addOption(
      choice(
        '--like <product>',
        'product to imitate: sets the defaults of the options below, and more',
        ['service', 'enterprise', 'online', 'portal'],
        'service',
      ),
    )
    .addOption(dialectOption('format of payloads (default: that of the product)'))
    .addOption(
      choice(
        '--gather <when>',
        'which webhooks collect events over their schedule: scheduled means those that have one (default: scheduled, or that of the product)',
        ['never', 'scheduled', 'always'],
      ),
    )
    .addOption(
      choice(
        '--omitted <what>',
        'what an edit does with the members that it omits',
        ['keep', 'reset'],
        'keep',
      ),
    )
    .option('--always200', 'respond to errors with HTTP status 200, as every product but service does')
    .addOption(
      choice('--error-format <name>', 'format of errors (default: that of the product)', [
        'messages',
        'error',
      ]),
    )
  addDeliveryOptions(command)
  return command
    .option(
      '--allow-host <name>',
      'host other than this machine to which webhooks may send; repeatable',
      collect,
    )
    .addOption(caOption())
    .option('--users <file>', 'JSON file with a list of users; the administration then requires a token')
    .option('--quiet', 'print only the address')
    .option('--json', 'print a line of JSON for each attempt and change')
}

/** Adds the options for deliveries. The dialect sets the default of options that have none here. */
function addDeliveryOptions(command: Command): void {
  addWrittenSignatureOptions(command)
    .addOption(
      choice('--changes-url <how>', 'how changesUrl is percent-encoded', ['partial', 'whole', 'none']),
    )
    .addOption(
      choice(
        '--fan-out <what>',
        'whether an event causes one delivery per webhook, or one per layer',
        ['webhook', 'layer'],
        'webhook',
      ),
    )
    .addOption(
      choice(
        '--features-edited <how>',
        'what events say for webhooks subscribed only to FeaturesEdited: the precise change, or FeaturesEdited',
        ['precise', 'edited'],
      ),
    )
    .option(
      '--handshake <minutes>',
      'require a handshake of receivers, and repeat it at this interval in minutes, 1 to 10080; 0 turns it off',
      wholeNumber(0, 10_080),
    )
    .option('--concurrency <n>', 'maximum number of concurrent attempts, 1 to 1000', wholeNumber(1, 1000), 50)
}

/** Converts the command's options to options of the mock service, except those that name files. */
function toServiceOptions(options: MockOptions): MockServiceOptions {
  const { like, dialect, gather, omitted, errorFormat, changesUrl, fanOut } = options
  const { featuresEdited, handshake, concurrency } = options
  const { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload } = options
  return {
    version: options.serviceVersion,
    like,
    dialect,
    gather,
    omitted,
    httpStatus: options.always200 ? 'always200' : undefined,
    errorFormat,
    allowHosts: options.allowHost,
    changesUrl,
    fanOut,
    featuresEdited,
    handshake: handshake ? { every: handshake } : handshake === 0 ? false : undefined,
    concurrency,
    signature: { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload },
  }
}

/** A feature service that a file gives its features. */
interface FeatureFile {
  file: string
  service: ServiceSeed & { serviceType: 'FeatureServer' }
}

/** Reads GeoJSON files. Each becomes a service with one layer, both with the name of the file. @throws {CliError} exit code 2 */
async function readFeatureFiles(io: Io, files: readonly string[]): Promise<FeatureFile[]> {
  const found: FeatureFile[] = []
  for (const file of files) {
    const name = basename(file).replace(/\.(geo)?json$/i, '')
    if (found.some(({ service }) => service.serviceName === name))
      throw usageError(`two files of --features have the name ${name}`, 'Each becomes a service: rename one.')
    const features = toCollection(file, await readJson(io, file))
    const service = { serviceName: name, serviceType: 'FeatureServer', layers: [{ name, features }] } as const
    found.push({ file, service })
  }
  return found
}

/** The seed checks the features later. @throws {CliError} exit code 2 */
function toCollection(file: string, value: unknown): GeoJsonCollection {
  const { type } = toRecord(value) ?? {}
  if (type === 'FeatureCollection') return value as GeoJsonCollection
  if (type === 'Feature')
    return { type: 'FeatureCollection', features: [value as GeoJsonCollection['features'][number]] }
  throw usageError(`${file}: it must be a GeoJSON FeatureCollection or Feature`, undefined, 'file_invalid')
}

/**
 * Adds services to a seed. They replace services of the seed that have no layers.
 *
 * @throws {CliError} exit code 2 if a service already has layers
 */
function withServices(seed: SnapshotSeed, files: readonly FeatureFile[]): SnapshotSeed {
  if (files.length === 0 || (seed.services !== undefined && !Array.isArray(seed.services))) return seed
  const services = files.map(({ file, service }) => {
    const others = seed.services?.filter((other) => isSame(other, service)) ?? []
    if (others.some(({ layers }) => layers !== undefined))
      throw usageError(`${file}: the seed already has layers for the service ${service.serviceName}`)
    return service
  })
  const others = seed.services?.filter((other) => !services.some((service) => isSame(other, service))) ?? []
  return { ...seed, services: [...services, ...others] }
}

/** Also works with the entries of an invalid seed, which is checked later. */
const isSame = (other: Partial<ServiceSeed> | null | undefined, { serviceName }: ServiceSeed): boolean =>
  other?.serviceName === serviceName && other.serviceType === 'FeatureServer' && !other.folderName
