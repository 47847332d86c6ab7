"""The smallest project that has tasks."""

SECRET_KEY = "not a secret"
INSTALLED_APPS = ["steadfast.django", "tests.django_site"]
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
TASKS = {
    "default": {
        "BACKEND": "steadfast.django.backend.SteadfastBackend",
        "QUEUES": ["default", "django"],
        "OPTIONS": {"retry": {"maxRetries": 2, "baseDelay": 0, "backoff": "fixed"}},
    }
}
