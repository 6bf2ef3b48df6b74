import { basename } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type {
  GeoJsonCollection,
  MockService,
  MockServiceOptions,
  Notice,
  ProductOptions,
  ServiceSeed,
  Snapshot,
  SnapshotSeed,
  TokenUser,
} from '../../mock/index.ts'
import { type CliError, toCliError, usageError } from '../errors.ts'
import { readJson, toRecord } from '../io/files.ts'
import { toPortError } from '../io/server.ts'
import { addCaOption, type CaOptions, readCas } from '../options/ca.ts'
import { CliCommand } from '../options/command.ts'
import { addWrittenSignatureOptions, type WrittenSignature } from '../options/signature.ts'
import { collect, duration, port, wholeNumber } from '../options/values.ts'
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
  return new CliCommand('mock')
    .summary('run a mock service that stores webhooks and sends deliveries')
    .description(
      'Runs a mock of the service on this machine: it stores webhooks, supports the administration operations, and ' +
        'signs and sends real deliveries. Open its address in a browser to see them. Without a seed, it has the services Parcels.FeatureServer and ' +
        'Analysis.GPServer and no webhooks. With a state file, every acknowledged change survives a crash.',
    )
    .with(addMockOptions)
    .examples(
      'geohook mock',
      'geohook mock --seed seed.json --state state.json',
      'geohook mock --features parcels.geojson --features trees.geojson',
      'geohook mock --port 0 --service-version 11.1 --json',
      'geohook mock --like enterprise,omitted=reset,window=false',
    )
    .addHelpText('after', FIRST_STEPS)
    .action((options) => runMock(io, options))
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
  const { createMockService, tokens } = await import('../../mock/index.ts')
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
  like?: ProductOptions
  concurrency: number
  allowHost?: string[]
  users?: string
  quiet?: true
}

function addMockOptions(command: CliCommand): void {
  command
    .option('--port <n>', 'port to listen on; 0 picks a free one', port, 4000)
    .option('--seed <file>', 'JSON file with the initial services and webhooks; it can contain keys')
    .option(
      '--features <file>',
      'GeoJSON file, which becomes a feature service with the name of the file; repeatable',
      collect,
    )
    .option('--state <file>', 'save all changes in this file; once it exists, it replaces the seed')
    .choice(
      '--service-version <version>',
      'version of the service to imitate',
      ['11.1', '11.2', '11.3'],
      '11.3',
    )
    .option(
      '--like <product>',
      'product to imitate: service, enterprise, online or portal. Members of the option like can follow, for example enterprise,omitted=reset (default: service)',
      like,
    )
    .with(addWrittenSignatureOptions)
    .option('--concurrency <n>', 'maximum number of concurrent attempts, 1 to 1000', wholeNumber(1, 1000), 50)
    .option(
      '--allow-host <name>',
      'host other than this machine to which webhooks may send; repeatable',
      collect,
    )
    .with(addCaOption)
    .option('--users <file>', 'JSON file with a list of users; the administration then requires a token')
    .option('--quiet', 'print only the address')
    .option('--json', 'print a line of JSON for each attempt and change')
}

const words = (...names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, name]))
const truth = { true: true, false: false }

/** The members of the option `like`, with their values by how the command line writes them. */
const LIKE: Readonly<Record<Exclude<keyof ProductOptions, 'signature'>, Record<string, unknown>>> = {
  product: words('service', 'enterprise', 'online', 'portal'),
  dialect: words('service', 'hosted', 'organization'),
  changesUrl: words('partial', 'whole', 'none'),
  fanOut: words('webhook', 'layer'),
  featuresEdited: words('precise', 'edited'),
  window: { false: false, scheduled: { webhooks: 'scheduled' }, all: { webhooks: 'all' } },
  handshake: truth,
  defaultActive: truth,
  omitted: words('keep', 'reset'),
  httpStatus: words('rest', 'always200'),
  errorFormat: words('messages', 'error'),
  federated: truth,
}

/** Parses a product and members of the option `like`, for example `enterprise,omitted=reset`. */
function like(value: string): ProductOptions {
  const members = value.split(',').map((part): [string, unknown] => {
    const [name = '', text, rest] = part.trim().split('=')
    if (rest !== undefined) throw new InvalidArgumentError(`${name} has two equals signs`)
    if (text === undefined) return ['product', toMember('product', name)]
    // The bounds are those of the option of the mock.
    if (name === 'handshake' && /^\d/.test(text)) return [name, { every: within(name, text, '1m', '7d') }]
    if (name === 'window' && /^\d/.test(text)) return [name, { length: within(name, text, '1s', '1d') }]
    return [name, toMember(name, text)]
  })
  const names = members.map(([name]) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new InvalidArgumentError(`${repeated} occurs twice`)
  return Object.fromEntries(members)
}

function toMember(name: string, text: string): unknown {
  if (!Object.hasOwn(LIKE, name))
    throw new InvalidArgumentError(`must have only the members ${Object.keys(LIKE).join(', ')}`)
  const values = LIKE[name as keyof typeof LIKE]
  if (Object.hasOwn(values, text)) return values[text]
  const orDuration = name === 'handshake' || name === 'window' ? ', or a duration like 90s' : ''
  throw new InvalidArgumentError(`${name} must be one of ${Object.keys(values).join(', ')}${orDuration}`)
}

/** Parses a duration between two others. Returns milliseconds. */
function within(name: string, text: string, minimum: string, maximum: string): number {
  const milliseconds = duration(text)
  if (milliseconds >= duration(minimum) && milliseconds <= duration(maximum)) return milliseconds
  throw new InvalidArgumentError(`${name} must be from ${minimum} to ${maximum}`)
}

/** Converts the command's options to options of the mock service, except those that name files. */
function toServiceOptions(options: MockOptions): MockServiceOptions {
  const { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload } = options
  return {
    version: options.serviceVersion,
    like: {
      ...options.like,
      signature: { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload },
    },
    allowHosts: options.allowHost,
    concurrency: options.concurrency,
  }
}

/** A feature service that a file gives its features. */
interface FeatureFile {
  file: string
  service: ServiceSeed & { serviceType: 'FeatureServer' }
}

/** Reads GeoJSON files. Each becomes a service with one layer, both with the name of the file. */
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

/** The seed checks the features later. */
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
