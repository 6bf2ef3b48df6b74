import { basename } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type {
  Attempt,
  GeoJsonCollection,
  MockService,
  MockServiceOptions,
  Notice,
  ProductOptions,
  Service,
  ServiceSeed,
  Snapshot,
  SnapshotSeed,
  TokenUser,
} from '../../mock/index.ts'
import { count } from '../../shared/words.ts'
import { toCliError, usageError } from '../errors.ts'
import { readJson, toRecord } from '../io/files.ts'
import { toPortError } from '../io/server.ts'
import { addCaOption, type CaOptions, CliCommand, readCas } from '../options/command.ts'
import { addWrittenSignatureOptions, type WrittenSignature } from '../options/signature.ts'
import { collect, duration, port, wholeNumber } from '../options/values.ts'
import { type Io, type Progress, printable } from '../terminal/io.ts'
import { openStateFile, type StateFile } from './state-file.ts'

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
  try {
    await serve(io, await createService(io, options, state), state, options)
  } finally {
    await state?.release()
  }
}

async function createService(
  io: Io,
  options: MockOptions,
  state: StateFile | undefined,
): Promise<MockService> {
  const { seed: seedFile, users: usersFile, features: featureFiles = [] } = options
  const given = seedFile === undefined ? { services: DEFAULT_SERVICES } : await readSeed(io, seedFile)
  const seed = withServices(given, await readFeatureFiles(io, featureFiles))
  const { services, webhooks, settings } = seed // restore() reports other members
  const seedFiles = [seedFile ?? [], featureFiles].flat().join(', ')
  const users = usersFile === undefined ? undefined : ((await readJson(io, usersFile)) as TokenUser[])
  const ca = await readCas(io, options)
  const { createMockService, createTokens } = await import('../../mock/index.ts')
  const auth = users && checkFile(usersFile, () => createTokens({ users }))
  const save = async (snapshot: Snapshot): Promise<void> => {
    try {
      if (state?.isSaved) await state.save(snapshot)
    } catch (error) {
      io.printError(toCliError(error))
      throw error // the client that made the change also gets an error
    }
  }
  const service = checkFile(seedFiles, () =>
    // A reset restores these services, webhooks and settings, even if the state file replaces them below.
    createMockService({ ...toServiceOptions(options), services, webhooks, settings, auth, ca, save }),
  )
  // restore() validates the whole content before it changes or saves anything.
  if (state?.content === undefined) checkFile(seedFiles, () => service.restore(seed))
  else checkFile(options.state, () => service.restore(state.content as SnapshotSeed))
  return service
}

async function serve(
  io: Io,
  service: MockService,
  state: StateFile | undefined,
  { port, quiet = false }: MockOptions,
): Promise<void> {
  // Called before the address is printed, because a script may stop the mock as soon as it has read the address.
  const stopped = io.untilStopped()
  let closing: Progress | undefined
  try {
    await service.listen(port).catch((error) => {
      throw toPortError(error, port, '127.0.0.1')
    })
    // Saves the generated ids, so that they are the same after a restart. A failed start saves nothing.
    await state?.save(service.snapshot())
    if (!quiet)
      service.on((notice) => {
        closing?.clear()
        printNotice(io, notice)
      })
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

/** Runs `check` on the content of files. @throws {CliError} exit code 2, with their names, if `check` throws */
function checkFile<T>(files: string | undefined, check: () => T): T {
  try {
    return check()
  } catch (error) {
    const { message, hint } = toCliError(error)
    if (!files || /^(options\.like|unknown like option)/.test(message)) throw usageError(message, hint)
    throw usageError(`${files}: ${message}`, hint, 'file_invalid')
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
  quiet?: boolean
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

/** Parses a product and members of the option `like`, for example `enterprise,omitted=reset`. The mock checks them. */
function like(value: string): ProductOptions {
  const members = value.split(',').map((part) => {
    const [name = '', text, rest] = part.trim().split('=')
    if (rest !== undefined) throw new InvalidArgumentError(`${name} has two equals signs`)
    return text === undefined ? ['product', name] : [name, toMember(name, text)]
  })
  const names = members.map(([name]) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new InvalidArgumentError(`${repeated} occurs twice`)
  return Object.fromEntries(members)
}

function toMember(name: string, text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (name === 'handshake') return duration(text)
  if (name === 'window') return /^\d/.test(text) ? { length: duration(text) } : { webhooks: text }
  return text
}

/** Converts the command's options to options of the mock service, except those that name files. */
function toServiceOptions(options: MockOptions): MockServiceOptions {
  const { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload } = options
  return {
    version: options.serviceVersion,
    like: {
      signature: { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload },
      ...options.like,
    },
    allowHosts: options.allowHost,
    concurrency: options.concurrency,
  }
}

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

/** Maximum number of services or webhooks to print. `geohook list` prints all webhooks. */
const MAX_LISTED = 10

function printStart(io: Io, url: string, { services, webhooks }: Snapshot, quiet: boolean): void {
  io.printAddress('mock service on', url)
  if (io.json || quiet) return
  io.print(`${count(services.length, 'service')}, ${count(webhooks.length, 'webhook')}`)
  if (webhooks.length === 0) printFirst(io, services, nameOf)
  printFirst(io, webhooks, ({ id, name, hookUrl, ...service }) => {
    return `${nameOf(service)}  ${printable(name)} (${id})  ${printable(hookUrl)}`
  })
}

function printFirst<T>(io: Io, items: readonly T[], toText: (item: T) => string): void {
  for (const item of items.slice(0, MAX_LISTED)) io.print(`  ${toText(item)}`)
  if (items.length > MAX_LISTED) io.print(`  ... and ${items.length - MAX_LISTED} more`)
}

const nameOf = ({ folderName, serviceName, serviceType }: Service): string =>
  printable(`${folderName && `${folderName}/`}${serviceName}.${serviceType}`)

function printNotice(io: Io, notice: Notice): void {
  const time = io.colours.dim(new Date().toLocaleTimeString('en-GB'))
  if (io.json) io.printEvent(toEvent(notice))
  else if (notice.type === 'attempt') io.print(`${time}  ${toLine(io, notice.attempt)}`)
  else if (notice.type === 'restored') io.print(`${time}  ${io.colours.cyan(notice.type)}`)
  else io.print(`${time}  ${toChange(io, notice)}`)
}

function toChange(io: Io, notice: Exclude<Notice, { type: 'attempt' | 'restored' }>): string {
  const webhook = `${printable(notice.name)} of ${printable(notice.service)}`
  if (notice.type === 'webhook') return `${io.colours.cyan(notice.change.replace('_', ' '))}  ${webhook}`
  const reason = printable(notice.reason ?? '')
  if (notice.type === 'not_sent')
    return `${io.colours.red('not sent')}  ${count(notice.events, 'event')} to ${webhook}: its handshake failed: ${reason}`
  return notice.ok
    ? `${io.colours.green('handshake')}  ${webhook}`
    : `${io.colours.red('handshake failed')}  ${webhook}: ${reason}; its deliveries are stopped`
}

function toLine(io: Io, attempt: Attempt): string {
  const { answer, number, hookUrl, milliseconds = 0, error, fault } = attempt
  return [
    io.toStatus(answer?.status),
    `attempt ${number}`,
    printable(hookUrl),
    `${milliseconds} ms`,
    ...(fault ? [`fault ${fault}`] : []),
    ...(error ? [printable(error)] : []),
  ].join('  ')
}

/** Omits an attempt's request, because the request contains the signature. The control API returns the request. */
function toEvent(notice: Notice): object {
  if (notice.type !== 'attempt') {
    const { type: event, ...rest } = notice
    return { event, ...rest }
  }
  const { id, deliveryId, webhookId, number, hookUrl, sentAt, answer, ...rest } = notice.attempt
  const { error, milliseconds, fault } = rest
  const attempt = { id, deliveryId, webhookId, number, hookUrl, sentAt, status: answer?.status }
  return { event: 'attempt', ...attempt, error, milliseconds, fault }
}
