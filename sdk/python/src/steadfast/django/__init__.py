"""A backend for `django.tasks`: `pip install steadfast-jobs[django]`, Django 6.0 or later.

    INSTALLED_APPS = [..., "steadfast.django"]
    TASKS = {"default": {"BACKEND": "steadfast.django.backend.SteadfastBackend"}}

`manage.py steadfast_worker` runs the tasks.
"""
