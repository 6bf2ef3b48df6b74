import { AdminError } from '../../http/errors.ts'
import { MAX_MINUTES } from '../auth.ts'
import { single } from '../form-fields.ts'
import { CHANGE_METHODS, type RootOperation, unchanged } from '../operation.ts'
import { oneOf, readEach, required, wholeNumber } from '../parameter-values.ts'
import { noteSignIn } from './federation.ts'

const GRANT_TYPES = ['client_credentials']

/** Issues tokens to applications (RFC 6749, section 4.4). Unlike there, errors have the format of the family. */
export const OAUTH_TOKEN: RootOperation = {
  name: 'oauthToken',
  scope: 'root',
  paths: ['/sharing/rest/oauth2/token', '/sharing/oauth2/token'],
  summary: 'Get a token for an application.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: false,
  needs: 'generateAppToken',
  parameters: [
    {
      name: 'client_id',
      required: true,
      description: 'The id of the application.',
      schema: { type: 'string' },
    },
    {
      name: 'client_secret',
      required: true,
      description: 'The secret of the application.',
      schema: { type: 'string', format: 'password' },
    },
    {
      name: 'grant_type',
      required: true,
      description: 'How the application proves itself.',
      schema: { type: 'string', enum: GRANT_TYPES },
    },
    {
      name: 'expiration',
      required: false,
      description: 'Lifetime of the token in minutes.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_MINUTES },
    },
  ],
  response: 'OAuthToken',
  async run({ context, parameters }) {
    const { client_id, client_secret, expiration } = readEach([
      ['client_id', () => required('client_id', single(parameters, 'client_id'))],
      ['client_secret', () => required('client_secret', single(parameters, 'client_secret'))],
      ['grant_type', () => required('grant_type', oneOf(GRANT_TYPES)(parameters, 'grant_type'))],
      ['expiration', () => wholeNumber(1, MAX_MINUTES)(parameters, 'expiration')],
    ]) as { client_id: string; client_secret: string; expiration?: number }
    const { auth, clock } = context.options
    const now = clock.now()
    const credentials = { clientId: client_id, clientSecret: client_secret, minutes: expiration }
    const issued = await auth?.generateAppToken?.(credentials, now)
    if (!issued) throw new AdminError(400, 'Invalid client_id or client_secret')
    noteSignIn(context, 'portal')
    return unchanged({
      access_token: issued.token,
      expires_in: Math.floor((issued.expires - now) / 1000),
    })
  },
}
