import { type Command, Option } from 'commander'
import type { MockServiceOptions, SignatureOptions } from '../../mock/index.ts'
import { collect, headerName, port, wholeNumber } from '../options/values.ts'

type Signature = { [name in keyof SignatureOptions]: NonNullable<SignatureOptions[name]> }

export interface MockOptions extends Signature {
  port: number
  seed?: string
  features?: string[]
  state?: string
  serviceVersion: '11.1' | '11.2' | '11.3'
  dialect: 'service' | 'hosted' | 'organization'
  gather: 'never' | 'scheduled' | 'always'
  omitted: 'keep' | 'reset'
  always200?: true
  changesUrl?: 'partial' | 'whole' | 'none'
  fanOut: 'webhook' | 'layer'
  concurrency: number
  allowHost?: string[]
  users?: string
  quiet?: true
  json?: true
}

const choice = (
  flags: string,
  description: string,
  values: readonly string[],
  defaultValue?: string,
): Option => new Option(flags, description).choices(values).default(defaultValue)

export function addMockOptions(command: Command): Command {
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
      choice('--dialect <name>', 'format of payloads', ['service', 'hosted', 'organization'], 'service'),
    )
    .addOption(
      choice(
        '--gather <when>',
        'which webhooks collect events over their schedule: scheduled means those that have one',
        ['never', 'scheduled', 'always'],
        'scheduled',
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
    .option('--always200', 'respond to errors with HTTP status 200, as some services do')
  addDeliveryOptions(command)
  return command
    .option(
      '--allow-host <name>',
      'host other than this machine to which webhooks may send; repeatable',
      collect,
    )
    .option('--users <file>', 'JSON file with a list of users; the administration then requires a token')
    .option('--quiet', 'print only the address')
    .option('--json', 'print a line of JSON for each attempt and change')
}

/** Adds the options for deliveries. The dialect sets the default of options that have none here. */
function addDeliveryOptions(command: Command): void {
  command
    .option('--signature-header <name>', 'header or form field for signatures', headerName)
    .addOption(choice('--encoding <name>', 'encoding of signatures', ['hex', 'base64']))
    .option('--prefix <text>', 'text before signatures, for example sha256=')
    .addOption(choice('--signature-in <place>', 'where a form carries its signature', ['header', 'field']))
    .option('--percent-encoded', 'percent-encode signatures in the header')
    .addOption(choice('--form-payload <how>', 'how a form encodes its payload', ['encoded', 'plain']))
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
    .option('--concurrency <n>', 'maximum number of concurrent attempts, 1 to 1000', wholeNumber(1, 1000), 50)
}

/** Converts the command's options to options of the mock service, except those that name files. */
export function toServiceOptions(options: MockOptions): MockServiceOptions {
  const { dialect, gather, omitted, changesUrl, fanOut, concurrency } = options
  const { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload } = options
  return {
    version: options.serviceVersion,
    dialect,
    gather,
    omitted,
    httpStatus: options.always200 ? 'always200' : 'rest',
    allowHosts: options.allowHost,
    changesUrl,
    fanOut,
    concurrency,
    signature: { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload },
  }
}
