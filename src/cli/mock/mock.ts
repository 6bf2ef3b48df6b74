import { Command } from 'commander'
import type { MockService, Notice, Snapshot, SnapshotSeed, TokenUser } from '../../mock/index.ts'
import { type CliError, toCliError, usageError } from '../errors.ts'
import { readJson, toRecord } from '../io/json.ts'
import { toPortError } from '../io/server.ts'
import { readCas } from '../options/ca.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io, Progress } from '../terminal/io.ts'
import { readFeatureFiles, withServices } from './feature-files.ts'
import { addMockOptions, type MockOptions, toServiceOptions } from './options.ts'
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
