import { Alert, Button, Code, CopyButton, Group, Modal, Stack, Text } from "@mantine/core"
import styles from "./parts.module.css"

interface ShownOnceProps {
  readonly title: string
  readonly secrets: readonly (readonly [string, string])[]
  readonly onClose: () => void
}

/** Shows secrets once, to be copied. */
export function SecretDialog({ title, secrets, onClose }: ShownOnceProps) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Alert color="yellow" variant="light">
          Copy it now: it is shown only once, because we store only its hash. If you lose it, create
          a new one.
        </Alert>
        {secrets.map(([what, secret]) => (
          <Stack key={what} gap={4}>
            <Text size="sm" fw={500}>
              {what}
            </Text>
            <Group gap="xs" wrap="nowrap" align="flex-start">
              <Code className={styles.code} block flex={1} data-secret>
                {secret}
              </Code>
              <CopyButton value={secret}>
                {({ copied, copy }) => (
                  <Button variant="default" onClick={copy}>
                    {copied ? "Copied" : "Copy"}
                  </Button>
                )}
              </CopyButton>
            </Group>
          </Stack>
        ))}
        <Group justify="flex-end">
          <Button onClick={onClose}>I saved it</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
