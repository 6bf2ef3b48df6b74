import { Command, Option } from 'commander'
import { createFetch } from '../io/fetch.ts'
import { type CaOptions, caOption, readTrust } from '../options/ca.ts'
import { addServiceTokenOptions, readServiceToken, type TokenOptions } from '../options/tokens.ts'
import { duration, originList, wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { toChangesError } from './errors.ts'
import { readSource } from './source.ts'
import { toChangesText } from './text.ts'

interface Options extends TokenOptions, CaOptions {
  origin?: string[]
  after?: number
  attachments?: true
  timeout: number
}

/** Maximum size of a response in bytes. */
const LIMIT = 256 * 1024 * 1024

export function createChangesCommand(io: Io): Command {
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
  return command.action((source, options) => printChanges(io, source, options))
}

async function printChanges(io: Io, text: string, options: Options): Promise<void> {
  const token = await readServiceToken(io, options)
  const { fetch, failure } = createFetch(await readTrust(io, options), LIMIT)
  const { events, origins } = await readSource(io, text, options)
  const { createChanges, editor } = await import('../../changes/index.ts')
  const { timeout, attachments } = options
  const changes = createChanges({
    ...(token === undefined ? {} : { token }),
    origins,
    timeout: io.wait(timeout),
    attachments,
    limit: LIMIT,
    // Shorter than the default, because a person waits for the result.
    pollInterval: { min: io.wait(250), max: io.wait(3_000) },
    fetch,
  })
  const found = await io.withProgress('waiting for the changes', () =>
    changes.of(events).catch((error: unknown) => {
      throw toChangesError(error, { failure: failure(), hasToken: token !== undefined })
    }),
  )
  if (io.json) io.printJson(found)
  else io.print(await toChangesText(io, found, editor))
}
