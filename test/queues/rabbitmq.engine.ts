import amqp from 'amqplib'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { KEY } from '../helpers/deliver.ts'
import { describeWith, RABBITMQ } from '../helpers/services.ts'
import { ATTEMPTS, send, testRecipe } from './cases.ts'
import { type Change, installed, startRecipe, writeRecipe } from './recipes.ts'

const QUEUE = `geohook-recipe-${process.pid}`
const SHORT: Change[] = [
  ['ATTEMPTS = 20', `ATTEMPTS = ${ATTEMPTS}`],
  ['1_000 * 2 ** attempt', '1_000'],
]

await describeWith(RABBITMQ, async (url) => {
  const connection = await amqp.connect(url)
  const channel = await connection.createConfirmChannel()
  afterAll(() => connection.close())

  /** Uses a channel of its own, because RabbitMQ closes it if the queue does not exist. */
  async function hasConsumer(queue: string): Promise<boolean> {
    const checking = await connection.createChannel()
    checking.on('error', () => {})
    try {
      return (await checking.checkQueue(queue)).consumerCount > 0
    } catch {
      return false
    } finally {
      await checking.close().catch(() => {})
    }
  }

  testRecipe({
    name: 'RabbitMQ',
    limit: 1024 ** 2,
    afterKill: 2,
    server: url,
    async start(env, server) {
      const folder = writeRecipe('RabbitMQ', installed('amqplib'), SHORT)
      const recipe = await startRecipe(folder, { ...env, AMQP_URL: server, QUEUE })
      await until(() => hasConsumer(QUEUE))
      const dead: string[] = []
      await channel.consume(`${QUEUE}.dead`, (message) => void dead.push(`${message?.content}`), {
        noAck: true,
      })
      return {
        url: recipe.url,
        kill: recipe.kill,
        async push(text) {
          channel.sendToQueue(QUEUE, Buffer.from(text))
          await channel.waitForConfirms()
        },
        dead: async () => [...dead],
        async stop() {
          await recipe.stop()
          // AMQP does not count messages that are not acknowledged. They return to the queue when the recipe stops.
          expect((await channel.checkQueue(QUEUE)).messageCount).toBe(0)
          await channel.deleteQueue(QUEUE)
          await channel.deleteQueue(`${QUEUE}.dead`)
        },
      }
    },
  })

  it('RabbitMQ: a message that no queue takes is a 503', async () => {
    const queue = `${QUEUE}-unroutable`
    const folder = writeRecipe('RabbitMQ', installed('amqplib'), [
      ['channel.sendToQueue(name,', "channel.sendToQueue('geohook-no-queue',"],
    ])
    const env = { SIGNATURE_KEY: KEY, SYNC_URL: 'http://127.0.0.1:1/', AMQP_URL: url, QUEUE: queue }
    const recipe = await startRecipe(folder, env)
    onTestFinished(async () => {
      await recipe.stop()
      await channel.deleteQueue(queue)
      await channel.deleteQueue(`${queue}.dead`)
    })
    await until(() => hasConsumer(queue))
    expect(await send(recipe.url)).toBe(503)
    expect(await send(recipe.url)).toBe(503)
    expect(recipe.output).toContain('there is no queue')
  })

  it('RabbitMQ: the recipe declares its queue again after the queue was deleted', async () => {
    const queue = `${QUEUE}-deleted`
    const folder = writeRecipe('RabbitMQ', installed('amqplib'))
    const env = { SIGNATURE_KEY: KEY, SYNC_URL: 'http://127.0.0.1:1/', AMQP_URL: url, QUEUE: queue }
    const recipe = await startRecipe(folder, env)
    onTestFinished(async () => {
      await recipe.stop()
      await channel.deleteQueue(queue)
      await channel.deleteQueue(`${queue}.dead`)
    })
    await until(() => hasConsumer(queue))
    await channel.deleteQueue(queue)
    await until(() => hasConsumer(queue))
    expect(await send(recipe.url)).toBe(202)
  })
})
