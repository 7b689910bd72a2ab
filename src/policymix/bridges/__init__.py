"""Ways from and to other libraries; each needs that library, and nothing needs it."""
