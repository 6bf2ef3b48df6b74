import { type Command, Option } from 'commander'
import type { MockServiceOptions, SignatureOptions } from '../../mock/index.ts'
import { collect, headerName, port, wholeNumber } from '../options/values.ts'
import { type CaOptions, caOption } from '../tls/trust.ts'

type Signature = { [name in keyof SignatureOptions]: NonNullable<SignatureOptions[name]> }

export interface MockOptions extends Signature, CaOptions {
  port: number
  seed?: string
  state?: string
  serviceVersion: '11.1' | '11.2' | '11.3'
  like: 'service' | 'enterprise' | 'online' | 'portal'
  dialect?: 'service' | 'hosted' | 'organization'
  gather?: 'never' | 'scheduled' | 'always'
  omitted: 'keep' | 'reset'
  always200?: true
  errorFormat?: 'messages' | 'error'
  changesUrl?: 'partial' | 'whole' | 'none'
  fanOut: 'webhook' | 'layer'
  featuresEdited: 'precise' | 'edited'
  handshake?: number
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
    .addOption(
      choice('--dialect <name>', 'format of payloads (default: that of the product)', [
        'service',
        'hosted',
        'organization',
      ]),
    )
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
    .option('--always200', 'respond to errors with HTTP status 200, as some services do')
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
    .addOption(
      choice(
        '--features-edited <how>',
        'what events say for webhooks subscribed only to FeaturesEdited: the precise change, or FeaturesEdited',
        ['precise', 'edited'],
        'precise',
      ),
    )
    .option(
      '--handshake <minutes>',
      'require a handshake of receivers, and repeat it so often, 1 to 10080',
      wholeNumber(1, 10_080),
    )
    .option('--concurrency <n>', 'maximum number of concurrent attempts, 1 to 1000', wholeNumber(1, 1000), 50)
}

/** Converts the command's options to options of the mock service, except those that name files. */
export function toServiceOptions(options: MockOptions): MockServiceOptions {
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
    handshake: handshake === undefined ? undefined : { every: handshake },
    concurrency,
    signature: { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload },
  }
}
