import { Button, Modal, Stack, Text } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import type { LeadForm } from "../../api/outreach-answers.ts"
import { TextView } from "../../parts/text-view.tsx"
import { WebLink } from "../../parts/web-link.tsx"

interface EmbedDialogProps {
  readonly form: LeadForm
  readonly onClose: () => void
}

/** How to embed a form in the company's own page. */
export function EmbedFormDialog({ form: { name, url, html }, onClose }: EmbedDialogProps) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Use ${name ?? "the form"}`}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Text size="sm" component="div">
          Hosted page: <WebLink address={url} />
        </Text>
        <Text size="sm">HTML for your own page:</Text>
        <TextView title="HTML" text={html} />
      </Stack>
    </Modal>
  )
}

/** A button that shows how to embed a form. */
export function EmbedFormButton({ form }: { readonly form: LeadForm }) {
  const [isOpen, { open, close }] = useDisclosure(false)
  return (
    <>
      <Button variant="subtle" size="compact-sm" onClick={open}>
        Embed
      </Button>
      {isOpen ? <EmbedFormDialog form={form} onClose={close} /> : null}
    </>
  )
}
