import { Command } from 'commander'
import type { MockService, Notice, Snapshot, SnapshotSeed, TokenUser } from '../../mock/index.ts'
import { type CliError, toCliError, usageError } from '../errors.ts'
import { readJson } from '../io/files.ts'
import { toPortError, untilStopped } from '../io/server.ts'
import { toRecord } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { printError } from '../terminal/output.ts'
import { type Progress, startProgress } from '../terminal/progress.ts'
import { addMockOptions, type MockOptions, toServiceOptions } from './options.ts'
import { tellNotice, tellStart } from './report.ts'
import { openStateFile, type StateFile } from './state-file.ts'

/** What there is where no seed says otherwise. */
const SERVICES: SnapshotSeed['services'] = [
  { serviceName: 'Parcels', serviceType: 'FeatureServer' },
  { serviceName: 'Analysis', serviceType: 'GPServer' },
]

const FIRST_STEPS = `A first webhook, and a delivery to it, from another shell:
  $ geohook create Parcels.FeatureServer --name edits --hook-url http://127.0.0.1:3000/ --key-file key.txt
  $ geohook trigger Parcels.FeatureServer FeaturesCreated

A seed:
  {"services": [{"serviceName": "Analysis", "serviceType": "GPServer"}],
   "webhooks": [{"serviceName": "Parcels", "serviceType": "FeatureServer", "name": "edits",
                 "hookUrl": "http://127.0.0.1:3000/", "signatureKey": "3f1c"}]}
`

/** `geohook mock`: the reference mock service, as a process. */
export function createMockCommand(): Command {
  const command = new Command('mock')
    .summary('run a mock service that keeps webhooks and sends deliveries')
    .description(
      'Runs a mock of the service on this machine: it keeps webhooks, answers the administration, and really signs ' +
        'and sends deliveries. Without a seed it has the services Parcels.FeatureServer and Analysis.GPServer, and no ' +
        'webhooks. With a state file, every change that it has acknowledged survives its death.',
    )
  addMockOptions(command)
  addExamples(command, [
    'geohook mock',
    'geohook mock --seed seed.json --state state.json',
    'geohook mock --port 0 --service-version 11.1 --json',
    'geohook mock --encoding base64 --prefix sha256= --fan-out layer',
  ])
  command.addHelpText('after', FIRST_STEPS)
  return command.action(mock)
}

async function mock(options: MockOptions): Promise<void> {
  const state = options.state === undefined ? undefined : await openStateFile(options.state)
  // A start that fails leaves no state behind: it would take the place of the seed from then on.
  const saving = { isOn: false }
  try {
    await run(await createService(options, state, saving), state, saving, options)
  } finally {
    await state?.release()
  }
}

/** Whether changes are saved yet. */
interface Saving {
  isOn: boolean
}

async function createService(
  options: MockOptions,
  state: StateFile | undefined,
  saving: Saving,
): Promise<MockService> {
  const { seed: seedFile, state: stateFile, json = false } = options
  const seed: SnapshotSeed = seedFile === undefined ? { services: SERVICES } : await readSeed(seedFile)
  const users = options.users === undefined ? undefined : await readJson(options.users)
  const { createMockService, tokens } = await import('../../mock/index.ts')
  const auth =
    users === undefined ? undefined : ofFile(options.users, () => tokens({ users: users as TokenUser[] }))
  const { services, webhooks, settings } = seed
  const save = async (snapshot: Snapshot): Promise<void> => {
    if (!saving.isOn) return
    try {
      await state?.save(snapshot)
    } catch (error) {
      printError(toCliError(error), json) // whoever made the change is told, too
      throw error
    }
  }
  const service = ofFile(seedFile, () =>
    // The services and webhooks of the seed are what a reset goes back to.
    createMockService({ ...toServiceOptions(options), services, webhooks, settings, auth, save }),
  )
  // The service checks the files as a whole, before it changes or saves anything.
  if (state?.content === undefined) ofFile(seedFile, () => service.restore(seed))
  else ofFile(stateFile, () => service.restore(state.content as SnapshotSeed))
  return service
}

async function run(
  service: MockService,
  state: StateFile | undefined,
  saving: Saving,
  { port, ...options }: MockOptions,
): Promise<void> {
  const quiet = options.quiet === true
  const json = options.json === true
  // Before anybody is told that it listens, and may want to stop it.
  const stopped = untilStopped()
  let ending: Progress | undefined
  try {
    await service.listen(port).catch((error) => {
      throw toPortError(error, port, '127.0.0.1')
    })
    saving.isOn = true
    // From the start, so that ids that were made here are the same after a restart.
    await state?.save(service.snapshot())
    const tell = (notice: Notice): void => {
      ending?.clear()
      tellNotice(notice, json)
    }
    if (!quiet) service.on(tell)
    tellStart(service.url, service.snapshot(), { quiet, json })
    await stopped
  } finally {
    ending = startProgress('waiting for deliveries that are on their way', json)
    await service.close()
    ending.stop()
  }
}

async function readSeed(file: string): Promise<SnapshotSeed> {
  const seed = toRecord(await readJson(file))
  if (!seed)
    throw usageError(`${file}: a seed must be an object`, '{"services": [], "webhooks": []}', 'file_invalid')
  return seed
}

/** @throws {CliError} exit code 2, which names the file that is to blame */
function ofFile<T>(file: string | undefined, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const { message, hint }: CliError = toCliError(error)
    throw usageError(file === undefined ? message : `${file}: ${message}`, hint, 'file_invalid')
  }
}
