import { AdminError } from '../http/errors.ts'
import { MAX_MINUTES } from './auth.ts'
import { single } from './form-fields.ts'
import { CHANGE, type RootOperation, unchanged } from './operation.ts'
import { oneOf, readEach, required, wholeNumber } from './parameter-values.ts'

const CLIENTS = ['referer', 'ip', 'requestip']

/** Only where the mock service has tokens. */
export const GENERATE_TOKEN: RootOperation = {
  name: 'generateToken',
  scope: 'root',
  segment: 'generateToken',
  summary: 'Get a token for the other operations.',
  methods: CHANGE,
  since: '11.1',
  changes: false,
  parameters: [
    { name: 'username', required: true, description: 'Who asks.', schema: { type: 'string' } },
    {
      name: 'password',
      required: true,
      description: 'The password of the user.',
      schema: { type: 'string', format: 'password' },
    },
    {
      name: 'client',
      required: false,
      description: 'Accepted and ignored: a token is good wherever it is used.',
      schema: { type: 'string', enum: CLIENTS },
    },
    { name: 'referer', required: false, description: 'Accepted and ignored.', schema: { type: 'string' } },
    { name: 'ip', required: false, description: 'Accepted and ignored.', schema: { type: 'string' } },
    {
      name: 'expiration',
      required: false,
      description: 'For how many minutes the token is to be good.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_MINUTES },
    },
  ],
  response: 'Token',
  async run({ context, parameters }) {
    const { username, password, expiration } = readEach([
      ['username', () => required('username', single(parameters, 'username'))],
      ['password', () => required('password', single(parameters, 'password'))],
      ['client', () => oneOf(CLIENTS)(parameters, 'client')],
      ['expiration', () => wholeNumber(1, MAX_MINUTES)(parameters, 'expiration')],
    ]) as { username: string; password: string; expiration?: number }
    const { auth, clock } = context.options
    const token = await auth?.generateToken?.({ username, password, minutes: expiration }, clock.now())
    // 400 as in the family: 401 would have to name a scheme that a client can answer with.
    if (!token) throw new AdminError(400, 'Invalid username or password')
    return unchanged({ token: token.token, expires: token.expires })
  },
}
