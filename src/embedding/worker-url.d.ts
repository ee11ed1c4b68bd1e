/** The built module that a thread for inference runs. The build writes one file per module format. */
export const workerUrl: URL;
