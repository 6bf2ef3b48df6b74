import { Option } from 'commander'

/** The kind of sender, for commands that receive. */
export const profileOption = (): Option =>
  new Option(
    '--profile <name>',
    'the kind of sender: service signs in x-service, arcgis in x-esriHook-Signature',
  )
    .choices(['service', 'arcgis'])
    .default('service')

/** How a command that sends writes a signature. */
export const encodingOption = (): Option =>
  new Option('--encoding <name>', 'how to write the signature').choices(['hex', 'base64']).default('hex')
