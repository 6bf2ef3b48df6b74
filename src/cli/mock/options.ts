import type { Command } from 'commander'
import type { MockServiceOptions } from '../../mock/index.ts'
import { type CaOptions, caOption } from '../options/ca.ts'
import {
  addWrittenSignatureOptions,
  choice,
  type Dialect,
  dialectOption,
  type WrittenSignature,
} from '../options/sender.ts'
import { collect, port, wholeNumber } from '../options/values.ts'

export interface MockOptions extends WrittenSignature, CaOptions {
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
    handshake: handshake ? { every: handshake } : handshake === 0 ? false : undefined,
    concurrency,
    signature: { signatureHeader, encoding, prefix, signatureIn, percentEncoded, formPayload },
  }
}
