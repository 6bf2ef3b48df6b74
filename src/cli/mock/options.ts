import { type Command, Option } from 'commander'
import type { MockServiceOptions, SignatureOptions } from '../../mock/index.ts'
import { collect, headerName, port, wholeNumber } from '../options/values.ts'

type Signature = { [name in keyof SignatureOptions]: NonNullable<SignatureOptions[name]> }

export interface MockOptions extends Signature {
  port: number
  seed?: string
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
    .option('--port <n>', 'the port; 0 takes a free one', port, 4000)
    .option('--seed <file>', 'JSON with services and webhooks to start with; it may hold keys')
    .option('--state <file>', 'save all changes there; once the file exists, it replaces the seed')
    .addOption(
      choice('--service-version <version>', 'the version to behave like', ['11.1', '11.2', '11.3'], '11.3'),
    )
    .addOption(
      choice('--dialect <name>', 'the form of payloads', ['service', 'hosted', 'organization'], 'service'),
    )
    .addOption(
      choice(
        '--gather <when>',
        'which webhooks gather events over their schedule: scheduled means those with a schedule',
        ['never', 'scheduled', 'always'],
        'scheduled',
      ),
    )
    .addOption(
      choice('--omitted <what>', 'what an edit does with omitted members', ['keep', 'reset'], 'keep'),
    )
    .option('--always200', 'answer errors with the HTTP status 200, as some services do')
  addDeliveryOptions(command)
  return command
    .option(
      '--allow-host <name>',
      'a host besides this machine that webhooks may address; repeat it for more',
      collect,
    )
    .option('--users <file>', 'JSON list of users: require a token of one of them')
    .option('--quiet', 'print the address only')
    .option('--json', 'print a line of JSON for each attempt and change')
}

/** Adds the options for deliveries. The dialect sets the default of options that have none here. */
function addDeliveryOptions(command: Command): void {
  command
    .option('--signature-header <name>', 'the header, or the field, for signatures', headerName)
    .addOption(choice('--encoding <name>', 'how to write signatures', ['hex', 'base64']))
    .option('--prefix <text>', 'written before signatures, for example sha256=')
    .addOption(choice('--signature-in <place>', 'where a form has its signature', ['header', 'field']))
    .option('--percent-encoded', 'percent-encode signatures in the header')
    .addOption(choice('--form-payload <how>', 'how a form carries its payload', ['encoded', 'plain']))
    .addOption(
      choice('--changes-url <how>', 'how changesUrl is percent-encoded', ['partial', 'whole', 'none']),
    )
    .addOption(
      choice(
        '--fan-out <what>',
        'whether an event makes one delivery for each webhook, or one for each of its layers',
        ['webhook', 'layer'],
        'webhook',
      ),
    )
    .option('--concurrency <n>', 'attempts on the wire at once, 1 to 1000', wholeNumber(1, 1000), 50)
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
