// A receiver as an AWS Lambda function, behind a function URL, API Gateway or a load balancer.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// To deploy it: npm install geohook, and upload the folder with the handler index.handler. Set SIGNATURE_KEY in the
// function's environment. The URL must not require authorization: senders have no AWS account.
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/lambda'

// Created once, when Lambda loads the function.
const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', async (event) => {
  // Handlers run before the response, because Lambda freezes the function after the response.
  console.log(`${event.changeType} on ${event.service.serviceName}`)
})

export const handler = webhook(receiver)
