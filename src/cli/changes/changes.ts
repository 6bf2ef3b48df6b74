import { Command, Option } from 'commander'
import { createFetch } from '../io/fetch.ts'
import { type CaOptions, caOption, readTrust } from '../options/ca.ts'
import {
  addServiceTokenOptions,
  readServiceToken,
  type ServiceTokenOptions,
} from '../options/service-token.ts'
import { duration, originList, wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { print, printSafe } from '../terminal/output.ts'
import { toPrintableJson } from '../terminal/printable.ts'
import { withProgress } from '../terminal/progress.ts'
import { toChangesError } from './errors.ts'
import { readSource } from './source.ts'
import { toChangesText } from './text.ts'

interface Options extends ServiceTokenOptions, CaOptions {
  origin?: string[]
  after?: number
  attachments?: true
  timeout: number
  json?: true
}

/** Maximum size of a response in bytes. */
const LIMIT = 256 * 1024 * 1024
/** Shorter than the default, because a person waits for the result. */
const POLL_INTERVAL = { min: 250, max: 3_000 }

export function createChangesCommand(): Command {
  const command = new Command('changes')
    .summary('print the edits behind a delivery of a feature service')
    .description(
      'Extracts the changes behind a changesUrl, or behind the events of captures, and prints one line for each edit. ' +
        'Features are as they are now: an update shows neither the old values nor which ones changed.',
    )
    .argument('<source>', 'a changesUrl, a file written by "geohook listen --save", or a folder of them')
    .option(
      '--origin <origin>',
      'origin of your service, which may get the token; required for a capture; repeatable',
      originList,
    )
    .option(
      '--after <generation>',
      'begin after this generation, instead of at the beginning of the window',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--attachments', 'also list added, updated and deleted attachments')
    .addOption(
      new Option('--timeout <time>', 'maximum duration, for example 90s or 15m')
        .argParser(duration)
        .default(300_000, '5m'),
    )
    .option('--json', 'print JSON')
  addServiceTokenOptions(command)
  command.addOption(caOption())
  addExamples(command, [
    'geohook changes captures --origin https://gis.example.com --token-file token.txt',
    "geohook changes 'http://127.0.0.1:4000/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1770600,1770625]'",
    'geohook changes http://127.0.0.1:4000/rest/services/Parcels/FeatureServer --after 1770625 --json',
  ])
  return command.action(printChanges)
}

async function printChanges(text: string, options: Options): Promise<void> {
  const token = await readServiceToken(options)
  const { fetch, failure } = createFetch(await readTrust(options), LIMIT)
  const { events, origins } = await readSource(text, options)
  const { createChanges, editor } = await import('../../changes/index.ts')
  const { timeout, attachments } = options
  const changes = createChanges({
    ...(token === undefined ? {} : { token }),
    origins,
    timeout,
    attachments,
    limit: LIMIT,
    pollInterval: POLL_INTERVAL,
    fetch,
  })
  const output = await withProgress('waiting for the changes', options.json === true, async () => {
    const found = await changes.of(events).catch((error: unknown) => {
      throw toChangesError(error, { failure: failure(), hasToken: token !== undefined })
    })
    return options.json ? toPrintableJson(found, 2) : toChangesText(found, editor)
  })
  options.json ? printSafe(output) : print(output)
}
